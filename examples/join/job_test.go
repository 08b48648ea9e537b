package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	input = map[string]string{
		"/orders/1": "1,ann,250\n2,bob,100\n", "/orders/2": "3,eve,7\n4,ann,30\n",
		"/customers": "ann,Ann Adams\nbob,Bob, Jr.\njoe,Joe\n",
	}
	args = Args{Orders: "/orders", Customers: "/customers", Output: "/out"}
	want = []string{"1,Ann Adams,250", "2,Bob, Jr.,100", "3,unknown,7", "4,Ann Adams,30"}
)

// It would catch an order that is lost, because it has no customer or another order has the same one.
func TestOrdersGetTheNamesOfTheirCustomers(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(input)
	dataflowtest.Run(t, Invoices, args, dataflowtest.Options{FileSystem: files, Parallelism: 2})
	check(t, files)
}

func TestOrdersSurviveAWorker(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(input)
	clustertest.Run(t, Invoices, args, clustertest.Options{
		Files: files, Parallelism: 2, Workers: 2, Faults: []clustertest.Fault{clustertest.KillWorker("orders").After(2)},
	})
	check(t, files)
}

// It would catch a join that fails, or loses orders, when the customers exceed the memory.
func TestAJoinLargerThanItsMemorySpills(t *testing.T) {
	t.Parallel()
	const n = 60_000
	var orders, customers strings.Builder
	for i := range n {
		fmt.Fprintf(&orders, "%d,c%d,250\n", i, i)
		fmt.Fprintf(&customers, "c%d,Customer %d\n", i, i)
	}
	files := dataflowtest.NewFiles(map[string]string{"/orders": orders.String(), "/customers": customers.String()})
	var metrics dataflowtest.Metrics
	dataflowtest.Run(t, Invoices, args, dataflowtest.Options{
		FileSystem: files, Memory: 1 << 20, LocalDirs: []string{t.TempDir()}, Metrics: &metrics,
	})
	spilled := metrics.Operator("left join").Counter("spilledBytes").Value()
	t.Logf("the join wrote %d bytes to files", spilled)
	if spilled == 0 {
		t.Error("nothing was spilled: the test needs more customers")
	}
	if lines := strings.Count(files.Files()["/out/part-00000"], ",Customer "); lines != n {
		t.Errorf("%d orders with a name, want %d", lines, n)
	}
}

func check(t *testing.T, files *dataflowtest.Files) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(files.Files()["/out/part-00000"]+files.Files()["/out/part-00001"]), "\n")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMalformedLinesFail(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "1,ann", "1,ann,much", "1,ann,1,2"} {
		if o, err := parseOrder(t.Context(), []byte(line)); err == nil {
			t.Errorf("%q is the order %+v", line, o)
		}
	}
	if c, err := parseCustomer(t.Context(), []byte("ann")); err == nil {
		t.Errorf("it is the customer %+v", c)
	}
}
