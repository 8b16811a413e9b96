# An echo server by the suite's own library, twice: for clients that come directly, and for those that come through a
# balancer, whose Host names the balancer's port. Python 2.
import sys

from autobahn.twisted.websocket import WebSocketServerFactory, WebSocketServerProtocol
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from twisted.internet import reactor


class Echo(WebSocketServerProtocol):
    def onMessage(self, payload, binary):
        self.sendMessage(payload, binary)


def accept(offers):
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return PerMessageDeflateOfferAccept(offer)


def listen(port, named):
    factory = WebSocketServerFactory("ws://127.0.0.1:%d" % port, externalPort=named)
    factory.protocol = Echo
    factory.setProtocolOptions(failByDrop=False, perMessageCompressionAccept=accept)
    reactor.listenTCP(port, factory, interface="127.0.0.1")


through, front, direct = map(int, sys.argv[1:])
listen(through, front)
listen(direct, direct)
reactor.run()
