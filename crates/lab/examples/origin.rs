//! A command-line origin: `origin [--listen ADDR] [--body BYTES] [--echo] [--name NAME]`.
//!
//! Serves until it is killed; `lab::origin` implements it.

use lab::origin::{OriginKind, OriginOptions, TestOrigin};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = OriginOptions::new("origin", OriginKind::Http { body: 128 });
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--listen" => options.listen = value()?.parse()?,
            "--body" => options.kind = OriginKind::Http { body: value()?.parse()? },
            "--name" => options.name = value()?,
            "--echo" => options.kind = OriginKind::Echo,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    let origin = TestOrigin::start(options)?;
    eprintln!("listening on {}", origin.address());
    loop {
        std::thread::park();
    }
}
