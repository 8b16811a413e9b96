// A server of Node: says of each request what it saw, in its answer and on standard output. `lenient`: reads what
// the library reads only when asked to be careless.
const http = require("http");
const lenient = process.argv[2] === "lenient";
const server = http.createServer({ insecureHTTPParser: lenient, keepAliveTimeout: 60000 }, (request, answer) => {
  let bytes = 0;
  request.on("data", (piece) => { bytes += piece.length; });
  request.on("end", () => {
    console.log(`seen ${request.method} ${request.url} ${bytes}`);
    answer.setHeader("X-Seen", `${request.method} ${request.url}`);
    answer.setHeader("Content-Length", "5");
    answer.end("seen\n");
  });
});
server.on("clientError", (error, socket) => {
  console.log(`refused ${error.code}`);
  socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
});
server.listen(0, "127.0.0.1", () => console.log(`listens ${server.address().port}`));
