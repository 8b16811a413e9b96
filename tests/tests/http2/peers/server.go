// A server of Go's library that speaks HTTP/2, in TLS when it is given a file with certificate and key.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listens %d\n", listener.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("X-Host", request.Host)
		answer.Header().Set("X-Protocol", request.Proto)
		io.WriteString(answer, "hello")
	})
	mux.HandleFunc("/large", func(answer http.ResponseWriter, request *http.Request) {
		answer.Write(bytes.Repeat([]byte("x"), 1000000))
	})
	mux.HandleFunc("/echo", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Trailer", "X-Length")
		length, _ := io.Copy(answer, request.Body)
		answer.(http.Flusher).Flush()
		answer.Header().Set("X-Length", fmt.Sprint(length))
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols}
	if len(os.Args) > 1 {
		err = server.ServeTLS(listener, os.Args[1], os.Args[1])
	} else {
		err = server.Serve(listener)
	}
	fmt.Fprintln(os.Stderr, err)
}
