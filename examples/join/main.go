// Join reads orders and customers, and writes each order with the name of its customer.
//
//	join ORDERS CUSTOMERS OUTPUT
//
// A line of ORDERS is "order,customer,cents", a line of CUSTOMERS is "customer,name".
//
// job.go holds the job.
package main

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() { bobbin.Main(drive) }

// drive is the driver. It runs once, in any mode.
func drive(ctx context.Context, env *dataflow.Env) error {
	args := env.Args()
	if len(args) != 3 {
		return errors.New("usage: join ORDERS CUSTOMERS OUTPUT")
	}
	_, err := env.Execute(ctx, Invoices, Args{Orders: args[0], Customers: args[1], Output: args[2]})
	return err
}
