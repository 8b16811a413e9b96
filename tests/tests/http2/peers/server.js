// A server of Node's library that speaks HTTP/2, in TLS when it is given a file with certificate and key.
'use strict';
const fs = require('fs');
const http2 = require('http2');

function answer(request, response) {
    const path = request.url;
    if (path === '/hello') {
        response.setHeader('x-host', request.authority);
        response.setHeader('x-protocol', 'HTTP/' + request.httpVersion);
        response.end('hello');
    } else if (path === '/large') {
        response.end('x'.repeat(1000000));
    } else if (path === '/echo') {
        let length = 0;
        request.on('data', (piece) => {
            length += piece.length;
            response.write(piece);
        });
        request.on('end', () => {
            response.addTrailers({ 'x-length': String(length) });
            response.end();
        });
    } else {
        response.statusCode = 404;
        response.end('nothing');
    }
}

const pair = process.argv[2] && fs.readFileSync(process.argv[2]);
const server = pair
    ? http2.createSecureServer({ cert: pair, key: pair }, answer)
    : http2.createServer(answer);
server.listen(0, '127.0.0.1', () => console.log('listens ' + server.address().port));
