"""A gRPC server and a client of it with the library that Google keeps, in bytes instead of messages.

    calls.py serve               prints its port and serves until its standard input ends
    calls.py ask HOST:PORT       calls every kind of method there and prints what came, a line each
"""

import queue
import sys
from concurrent import futures

import grpc

NAME = "proof.Echo"


def unary(request, context):
    context.set_trailing_metadata((("x-last", "unary"),))
    return request


def fails(request, context):
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked")


def counts(request, context):
    for number in range(int(request)):
        yield str(number).encode()


def sums(requests, context):
    return str(sum(int(one) for one in requests)).encode()


def echoes(requests, context):
    yield from requests


def serve():
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Fails": grpc.unary_unary_rpc_method_handler(fails),
        "Counts": grpc.unary_stream_rpc_method_handler(counts),
        "Sums": grpc.stream_unary_rpc_method_handler(sums),
        "Echoes": grpc.stream_stream_rpc_method_handler(echoes),
    }
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(NAME, handlers),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


def ask(at):
    with grpc.insecure_channel(at, [("grpc.enable_http_proxy", 0)]) as channel:
        answer, call = channel.unary_unary(f"/{NAME}/Unary").with_call(b"hello", timeout=30)
        print("unary", answer.decode(), call.code().name, dict(call.trailing_metadata())["x-last"])
        long = b"x" * 3_000_000
        print("long", channel.unary_unary(f"/{NAME}/Unary")(long, timeout=30) == long)
        try:
            channel.unary_unary(f"/{NAME}/Fails")(b"", timeout=30)
        except grpc.RpcError as error:
            print("fails", error.code().name, error.details())
        print("counts", len(list(channel.unary_stream(f"/{NAME}/Counts")(b"500", timeout=30))))
        print("sums", channel.stream_unary(f"/{NAME}/Sums")(iter([b"1"] * 500), timeout=30).decode())
        # Each word is sent after the one before has come back.
        words = queue.Queue()
        turn = channel.stream_stream(f"/{NAME}/Echoes")(iter(words.get, None), timeout=30)
        got = []
        for word in (b"one", b"two", b"three"):
            words.put(word)
            got.append(next(turn))
        words.put(None)
        print("echoes", b" ".join(got).decode(), len(list(turn)))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        ask(sys.argv[2])
