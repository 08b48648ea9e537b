package hadoopconf

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzValues reads a property's value as every type. It would catch a number that wraps
// around, a list with an empty element, and an error that does not name property and
// file.
func FuzzValues(f *testing.F) {
	for _, value := range []string{"true", "0x7fffffffffffffff", "-0x8000000000000000", "106751d", "9223372036854775807ns", "8e", "-64 m", "a,, b", "k", "${x}", "hdfs://nn:8020/", "nn:8020", "[::1]", "٣s"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		const name = "dfs.blocksize"
		c := (&Conf{}).With("site.xml", map[string]string{name: value})
		check := func(kind string, err error) {
			if fault, is := errors.AsType[*ValueError](err); err != nil && (!is || fault.Name != name || !strings.Contains(err.Error(), "site.xml")) {
				t.Errorf("%s of %q: error %v", kind, value, err)
			}
		}
		_, err := c.Bool(name)
		check("bool", err)
		n, err := c.Int(name)
		check("int", err)
		size, err := c.Size(name)
		check("size", err)
		if digits := strings.Trim(value, "-0123456789"); err == nil && digits == "" && size != n {
			t.Errorf("%q is %d, and %d bytes", value, n, size)
		}
		negative := strings.HasPrefix(strings.TrimSpace(value), "-")
		if err == nil && (size < 0) != (negative && size != 0) {
			t.Errorf("%q is %d bytes", value, size)
		}
		d, err := c.Duration(name, time.Hour)
		check("duration", err)
		if err == nil && (d < 0) != (negative && d != 0) {
			t.Errorf("%q is %v", value, d)
		}
		parts, err := c.Strings(name)
		check("list", err)
		for _, part := range parts {
			if part == "" || strings.Contains(part, ",") || part != strings.TrimSpace(part) {
				t.Errorf("%q has an entry %q", value, part)
			}
		}
	})
}

// FuzzAddresses reads the addresses of a cluster's servers. It would catch an invalid
// address, which a client would dial in vain for minutes.
func FuzzAddresses(f *testing.F) {
	for _, value := range []string{"rm:8032", "rm", "[::1]", "::1", "[::1]:8032", "0.0.0.0:0", "a]b", "http://rm:8088", "rm:", ":8032", "hdfs:/x"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		c := (&Conf{}).With("site.xml", map[string]string{
			"fs.defaultFS": value, "yarn.resourcemanager.address": value, "yarn.resourcemanager.webapp.address": value,
			"dfs.nameservices": "ns", "dfs.namenode.rpc-address.ns": value,
		})
		if uri, err := c.DefaultFS(); err == nil && !strings.Contains(uri, ":/") {
			t.Errorf("%q is the file system %q", value, uri)
		}
		var addresses []string
		if rms, err := c.ResourceManagers(); err == nil {
			addresses = append(addresses, rms[0].Client, rms[0].Scheduler)
		}
		if nodes, _, err := c.NameNodes("ns"); err == nil {
			addresses = append(addresses, nodes...)
		}
		for _, address := range addresses {
			if _, _, err := net.SplitHostPort(address); err != nil {
				t.Errorf("%q is the address %q: %v", value, address, err)
			}
		}
	})
}
