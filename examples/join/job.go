package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job.
type Args struct{ Orders, Customers, Output string }

// Order is a line of the orders.
type Order struct {
	ID, Customer string
	Cents        int64
}

// Customer is a line of the customers.
type Customer struct{ ID, Name string }

// Invoices writes each order with the name of its customer. An order whose customer is not known stays.
var Invoices = dataflow.Job("join", func(p *dataflow.Plan, a Args) error {
	orders := dataflow.TryMap(dataflow.ReadText(p, a.Orders), parseOrder, dataflow.Named("orders"))
	customers := dataflow.TryMap(dataflow.ReadText(p, a.Customers), parseCustomer, dataflow.Named("customers"))

	byCustomer := dataflow.KeyBy(orders, func(o Order) string { return o.Customer })
	byID := dataflow.KeyBy(customers, func(c Customer) string { return c.ID })
	named := dataflow.LeftJoin(byCustomer, byID, func(o Order, c *Customer, emit func(string)) {
		name := "unknown"
		if c != nil {
			name = c.Name
		}
		emit(fmt.Sprintf("%s,%s,%d", o.ID, name, o.Cents))
	})
	dataflow.WriteText(named, a.Output, func(dst []byte, line string) []byte { return append(dst, line...) })
	return nil
})

func parseOrder(_ context.Context, line []byte) (Order, error) {
	fields := strings.Split(string(line), ",")
	if len(fields) != 3 {
		return Order{}, fmt.Errorf("an order has 3 fields, this line has %d", len(fields))
	}
	cents, err := strconv.ParseInt(fields[2], 10, 64)
	return Order{fields[0], fields[1], cents}, err
}

func parseCustomer(_ context.Context, line []byte) (Customer, error) {
	id, name, found := strings.Cut(string(line), ",")
	if !found {
		return Customer{}, errors.New("a customer has 2 fields, this line has 1")
	}
	return Customer{id, name}, nil
}
