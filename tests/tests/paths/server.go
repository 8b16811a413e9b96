// A server of Go's library: says of each request to which area its path leads, by each way in which programs look at it.
package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
)

func area(path string) string {
	for _, name := range []string{"admin", "public"} {
		if strings.HasPrefix(path, "/"+name+"/") {
			return name
		}
	}
	return "other"
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listens %d\n", listener.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	for pattern, area := range map[string]string{"/admin/": "admin", "/public/": "public", "/": "other"} {
		mux.HandleFunc(pattern, func(answer http.ResponseWriter, request *http.Request) {
			header := answer.Header()
			header.Set("X-Areas", header.Get("X-Areas")+" mux="+area)
			header.Set("Content-Length", "0")
		})
	}
	seen := func(answer http.ResponseWriter, request *http.Request) {
		decoded := request.URL.Path
		twice, err := url.PathUnescape(decoded)
		if err != nil {
			twice = decoded
		}
		answer.Header().Set("X-Areas", fmt.Sprintf("raw=%s path=%s clean=%s twice=%s",
			area(request.URL.EscapedPath()), area(decoded), area(path.Clean(decoded)+"/"), area(path.Clean(twice)+"/")))
		mux.ServeHTTP(answer, request)
	}
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(seen)))
}
