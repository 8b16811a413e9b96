//! The keys, in words. Nothing but text.

/// Every key, a line each.
pub const HELP: &str = "\
arrows, j, k     choose a line; page up, page down, home and end go further
tab              the next view; shift and tab, or the arrows left and right, go both ways
s, S             sort by the next column, or the one before; after the last, as configured
/                show only lines with these letters; enter keeps them, escape shows all again
d                drain the server that is chosen: it finishes what it has
e                enable it: judged by its health again
x                disable it: it takes nothing
                 each asks first; y gives the order, any other key leaves the server as it is
p                pause: what is seen stays, until p again
?                this; any key leads back
q, Ctrl-C        quit

Rates and times cover the time between two looks. /S of a service or server counts requests, connections of a tcp
service, or new connections of a packet service. FAIL/S counts exchanges that did not end well, or dropped packets.
";

/// The last line of a screen.
pub const HINT: &str =
    "tab view  s sort  / filter  d drain  e enable  x disable  p pause  ? help  q quit";
