//! Commands of the pages that are run differently or skipped, each with its treatment and reason.
//!
//! A row whose command is on no page is an error, so that the table stays up to date.

/// The treatment of a command.
#[derive(Clone, Copy, Debug)]
pub enum CommandTreatment {
    /// The command runs and ends with one of these codes, which depend on the machine.
    ExitCodes(&'static [i32]),
    /// The command is replaced by a faster equivalent, or by one with the values that the page leaves to the reader.
    Replaced(&'static str),
    /// The command runs on a terminal. `q` is pressed once the screen shows this text.
    Screen(&'static str),
    /// The command runs until Ctrl-C, which is pressed once its output contains this text.
    Until(&'static str),
    /// The command prints this text and keeps running, because later commands need it.
    KeepsRunning(&'static str),
    /// The command is not run.
    Skipped(&'static str),
}

use CommandTreatment::{ExitCodes, KeepsRunning, Replaced, Screen, Skipped, Until};

const BUILDS: &str = "it builds the program, which the gate itself does";
const INSTALLS: &str = "packaging/prove installs the package in a fresh root";
const UNDER_SYSTEMD: &str =
    "tests/tests/systemd.rs runs the unit with its drop-ins under a systemd of its own";

/// The page, the command, and its treatment.
pub const ROWS: &[(&str, &str, CommandTreatment)] = &[
    ("README.md", "make try", Skipped(BUILDS)),
    ("README.md", "make test", Skipped(BUILDS)),
    ("README.md", "steelyard run -c shop.toml", KeepsRunning("ready")),
    ("README.md", "steelyard top", Screen("services")),
    (
        "docs/api.md",
        "curl --unix-socket /run/steelyard/control.sock -T next.toml -H 'if-match: \"7\"' http://x/v1/config",
        Replaced(
            "curl --unix-socket /run/steelyard/control.sock -T next.toml \
            -H \"$(sed -n 's/^etag:/if-match:/p' head | tr -d '\\r')\" http://x/v1/config",
        ),
    ),
    ("docs/authentication.md", "steelyard run -c jwt.toml", KeepsRunning("ready")),
    ("docs/cores.md", "steelyard doctor cores", ExitCodes(&[0, 1])),
    ("docs/cores.md", "steelyard doctor cores --watch", Until("PACKETS/S")),
    (
        "docs/cores.md",
        "steelyard doctor cores --apply",
        Skipped("it changes which processors this machine's interrupts go to"),
    ),
    (
        "docs/cores.md",
        "steelyard doctor cores --undo",
        Skipped("nothing was applied; tests/tests/steering.rs does both"),
    ),
    ("docs/examples/api-gateway.md", "curl https://shop.example/v1/orders", ExitCodes(&[22])),
    (
        "docs/examples/mutual-tls.md",
        "curl https://admin.shop.example/ -o /dev/null",
        // However curl sees the end of the handshake.
        ExitCodes(&[35, 55, 56]),
    ),
    (
        "docs/explain.md",
        "steelyard explain trace --watch eth0 --filter port=443",
        Replaced("steelyard explain trace --watch eth0 --filter port=443 --for 1s"),
    ),
    (
        "docs/guides/capacity-and-tuning.md",
        "steelyard capacity -c shop.toml --calibrate",
        Skipped("it uses all processors for seconds; tests/tests/lab/capacity.rs does"),
    ),
    (
        "docs/guides/capacity-and-tuning.md",
        "steelyard bench http http://127.0.0.1:8080/ --rate 2000 -d 30s",
        Replaced("steelyard bench http http://127.0.0.1:8080/ --rate 50 -d 200ms"),
    ),
    (
        "docs/guides/capacity-and-tuning.md",
        "steelyard bench http http://127.0.0.1:8080/ --find-capacity --objective 'p99 < 20ms' -d 5s",
        Skipped("the same is on another page, about a server that is quicker than this one's"),
    ),
    (
        "docs/guides/capacity-and-tuning.md",
        "steelyard doctor cores",
        Skipped("docs/cores.md has it, and it takes seconds"),
    ),
    (
        "docs/guides/blue-green.md",
        "steelyard plan-change /etc/steelyard/steelyard.toml",
        Replaced(
            "sed -i 's/^ *pool *= \"blue\"/pool = \"green\"/' /etc/steelyard/steelyard.toml && \
            steelyard plan-change /etc/steelyard/steelyard.toml",
        ),
    ),
    (
        "docs/guides/canary.md",
        "steelyard plan-change /etc/steelyard/steelyard.toml",
        Replaced(
            "sed -i 's/weight = 95/weight = 80/; s/weight = 5 /weight = 20 /' /etc/steelyard/steelyard.toml && \
            steelyard plan-change /etc/steelyard/steelyard.toml",
        ),
    ),
    (
        "docs/guides/direct-server-return.md",
        "steelyard doctor server 203.0.113.30",
        ExitCodes(&[0, 1]),
    ),
    (
        "docs/guides/high-availability.md",
        "curl http://203.0.113.20/ -o /dev/null",
        // The member has just begun, and first waits for others.
        Replaced(
            "curl --retry 30 --retry-all-errors --retry-max-time 40 http://203.0.113.20/ -o /dev/null",
        ),
    ),
    // There is no other machine to hand over to.
    ("docs/guides/high-availability.md", "steelyard takeover --give front", ExitCodes(&[1])),
    ("docs/guides/ten-minutes.md", "python3 -m http.server 8081", KeepsRunning("Serving HTTP")),
    ("docs/guides/ten-minutes.md", "python3 -m http.server 8082", KeepsRunning("Serving HTTP")),
    (
        "docs/guides/ten-minutes.md",
        "steelyard run -c shop.toml",
        KeepsRunning("web/b: unknown → up"),
    ),
    ("docs/guides/ten-minutes.md", "steelyard top", Screen("services")),
    (
        "docs/guides/ten-minutes.md",
        "steelyard plan-change shop.toml",
        Replaced(
            "sed -i 's/^ *probe/balance = \"round-robin\"\\n&/' shop.toml && steelyard plan-change shop.toml",
        ),
    ),
    (
        "docs/guides/websocket.md",
        "curl -i --max-time 1 http://203.0.113.10/ws -H 'Connection: Upgrade' -H 'Upgrade: websocket' \
        -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='",
        ExitCodes(&[28]),
    ),
    ("docs/installing.md", "apt-get install ./steelyard_0.1.0_amd64.deb", Skipped(INSTALLS)),
    (
        "docs/installing.md",
        "editor /etc/steelyard/steelyard.toml",
        Skipped("it waits for somebody who types"),
    ),
    ("docs/installing.md", "systemctl enable --now steelyard", Skipped(INSTALLS)),
    (
        "docs/installing.md",
        "STEELYARD_SIGNING_KEY=releases@example.org make package",
        Skipped(INSTALLS),
    ),
    ("docs/installing.md", "systemctl daemon-reload", Skipped(UNDER_SYSTEMD)),
    ("docs/installing.md", "systemctl restart steelyard", Skipped(UNDER_SYSTEMD)),
    (
        "docs/lab.md",
        "steelyard bench http http://127.0.0.1:8080/ -c 50 -d 10s",
        Replaced("steelyard bench http http://127.0.0.1:8080/ -c 5 -d 100ms"),
    ),
    (
        "docs/lab.md",
        "steelyard bench http http://127.0.0.1:8080/ --rate 5000 -d 30s",
        Replaced("steelyard bench http http://shop.example/ --rate 100 -d 200ms"),
    ),
    (
        "docs/lab.md",
        "steelyard bench http http://shop.example/ --rate 1000..10000/1000 -d 5s --html steps.html",
        Replaced(
            "steelyard bench http http://shop.example/ --rate 100..200/100 -d 100ms --html steps.html",
        ),
    ),
    (
        "docs/lab.md",
        "steelyard bench http http://shop.example/ --find-capacity --objective 'p99 < 20ms' -d 5s",
        Replaced(
            "steelyard bench http http://shop.example/ --find-capacity --objective 'p99 < 900ms' -d 300ms \
            --search-from 2000 --search-to 2000",
        ),
    ),
    (
        "docs/lab.md",
        "steelyard bench http http://shop.example/ --repeat 10 -o base.json",
        Replaced(
            "steelyard bench http http://shop.example/ --repeat 10 -n 20 -o base.json && \
            steelyard bench http http://shop.example/ --repeat 10 -n 20 -o changed.json",
        ),
    ),
    (
        "docs/lab.md",
        "steelyard bench http https://shop.example/ --http2 --agents 192.0.2.7:7009,192.0.2.8:7009 --token-file token",
        Replaced(
            "steelyard bench http https://shop.example/ --http2 --agents 192.0.2.7:7009,192.0.2.8:7009 --token-file token -d 200ms",
        ),
    ),
    ("docs/lab.md", "steelyard bench serve 192.0.2.7:7007", KeepsRunning("192.0.2.7:7007")),
    (
        "docs/lab.md",
        "steelyard bench connect 192.0.2.7:7007 --close client",
        Replaced("steelyard bench connect 192.0.2.7:7007 --close client -n 20"),
    ),
    (
        "docs/lab.md",
        "steelyard bench stream 192.0.2.7:7008 --buffer 64KiB,1MiB",
        Replaced("steelyard bench stream 192.0.2.7:7008 --buffer 64KiB,1MiB -d 50ms"),
    ),
    ("docs/lab.md", "steelyard compare base.json changed.json", ExitCodes(&[0, 1])),
    (
        "docs/lab.md",
        "steelyard capacity -c shop.toml --response 64KiB --link 1Gbit/s --calibrate",
        Skipped("it uses all processors for seconds; tests/tests/lab/capacity.rs does"),
    ),
    (
        "docs/lab.md",
        "steelyard study two-balancers --quick --out slow.html",
        Skipped("it takes half a minute; tests/tests/lab/study.rs does"),
    ),
    (
        "docs/lab.md",
        "steelyard lab exec server -- steelyard bench serve 10.0.2.2:7007",
        KeepsRunning("10.0.2.2:7007"),
    ),
    (
        "docs/lab.md",
        "steelyard lab exec client -- steelyard bench connect 10.0.2.2:7007",
        Replaced("steelyard lab exec client -- steelyard bench connect 10.0.2.2:7007 -n 4 -c 2"),
    ),
    ("docs/links.md", "cargo build --release -p steelyard", Skipped(BUILDS)),
    (
        "docs/probes.md",
        "cargo run --profile prove -p daemon --example probe_cost -- http 10000",
        Skipped(BUILDS),
    ),
];
