//! Large command files of the dispatcher.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 6] = [
    FileShape::new(Dialect::Dispatcher, "clusters", clusters),
    FileShape::new(Dialect::Dispatcher, "ports", ports),
    FileShape::new(Dialect::Dispatcher, "servers", servers),
    FileShape::new(Dialect::Dispatcher, "rules", rules),
    FileShape::new(Dialect::Dispatcher, "names", names),
    FileShape::new(Dialect::Dispatcher, "changes", changes),
];

const START: &str = "dscontrol executor start\ndscontrol cluster add 192.0.2.70\n";

fn clusters(lines: usize) -> String {
    let one = |at: usize| {
        let cluster = address(at);
        format!(
            "dscontrol cluster add {cluster}\ndscontrol port add {cluster}:80\ndscontrol server add {cluster}:80:10.255.0.1\n"
        )
    };
    START.to_owned() + &each(lines / 3, one)
}

fn ports(lines: usize) -> String {
    let one = |at: usize| {
        let port = at + 1;
        format!(
            "dscontrol port add 192.0.2.70:{port}\ndscontrol server add 192.0.2.70:{port}:10.255.0.1\n"
        )
    };
    START.to_owned() + &each(lines / 2, one)
}

fn servers(lines: usize) -> String {
    let one = |at: usize| format!("dscontrol server add 192.0.2.70:80:{} weight 9\n", address(at));
    format!("{START}dscontrol port add 192.0.2.70:80\n{}", each(lines, one))
}

fn rules(lines: usize) -> String {
    let one = |at: usize| {
        let range = address(at);
        format!(
            "dscontrol rule add 192.0.2.70:80:r{at} type ip beginrange {range} endrange {range} priority {}\n\
             dscontrol rule useserver 192.0.2.70:80:r{at} 10.255.0.1\n",
            at % 30_000
        )
    };
    format!(
        "{START}dscontrol port add 192.0.2.70:80\ndscontrol server add 192.0.2.70:80:10.255.0.1\n{}",
        each(lines / 2, one)
    )
}

fn names(lines: usize) -> String {
    let servers = each(lines, |at| format!("+{}", address(at)));
    format!(
        "{START}dscontrol port add 192.0.2.70:80\ndscontrol server add 192.0.2.70:80:{}\n",
        &servers[1..]
    )
}

/// Objects that come and go.
fn changes(lines: usize) -> String {
    let one = |at: usize| {
        let server = address(at / 4);
        match at % 2 {
            0 => format!("dscontrol server add 192.0.2.70:80:{server}\n"),
            _ => format!("dscontrol server remove 192.0.2.70:80:{}\n", address(at / 8)),
        }
    };
    format!("{START}dscontrol port add 192.0.2.70:80\n{}", each(lines, one))
}
