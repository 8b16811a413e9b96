//! The keys, in words. Text only.

/// Every key, a line each.
pub const HELP: &str = "\
arrows, j, k   choose a line; page up, page down, home and end go further
tab            the next view; shift and tab, or left and right, go both ways
s, S           sort by the next column, or the one before
/              only lines with these letters; enter keeps, escape shows all
d              drain the server that is chosen: it finishes what it has
e              enable it: judged by its health again
x              disable it: it takes nothing
               each asks first; y sends the command, any other key does not
p              pause: what is seen stays, until p again
?              this; any key leads back
q, Ctrl-C      quit

Rates and times cover the time between two looks. /S of a service or server
counts requests, connections of a tcp service, or new connections of a
packet service; the bars above show it for the last looks, now on the right.
FAIL/S counts exchanges that did not end well, or dropped packets.
";

/// The last line of a screen.
pub const HINT: &str =
    "tab view  s sort  / find  d drain  e enable  x disable  p pause  ? help  q quit";
