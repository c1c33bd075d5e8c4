package server_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"

	"example.com/petstore/engine/server"
)

// A server answers requests until its context ends.
func Example() {
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
	s, err := server.New(server.Options{Handler: http.HandlerFunc(hello), Listeners: []net.Listener{l}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // a program uses UntilSignal
	go func() {
		r, err := http.Get(server.URL(l.Addr(), false))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Status)
		cancel()
	}()
	fmt.Println(s.Run(ctx))
	// Output:
	// 200 OK
	// <nil>
}
