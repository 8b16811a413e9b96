// A server of Go's library: says of each request what it saw, in its answer and on standard output.
package main

import (
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
	seen := func(answer http.ResponseWriter, request *http.Request) {
		bytes, err := io.Copy(io.Discard, request.Body)
		if err != nil {
			fmt.Printf("refused %v\n", err)
			answer.Header().Set("Connection", "close")
			answer.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Printf("seen %s %s %d\n", request.Method, request.RequestURI, bytes)
		answer.Header().Set("X-Seen", request.Method+" "+request.RequestURI)
		answer.Header().Set("Content-Length", "5")
		io.WriteString(answer, "seen\n")
	}
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(seen)))
}
