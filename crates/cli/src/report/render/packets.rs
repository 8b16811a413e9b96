//! Forwarded packets as text: the balance, why some were not forwarded, services and servers. Pure.

use api::types::{PacketDisposition, PacketOutcome, PacketServer, PacketService, PacketsReport};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::{bytes, count, rate, signed};

/// A count with its rate.
#[derive(Clone, Copy, Default)]
struct OutcomeSum {
    total: u64,
    rate: f64,
    v4: u64,
    v6: u64,
    other: u64,
}

fn sum<'a>(outcomes: impl IntoIterator<Item = &'a PacketOutcome>) -> OutcomeSum {
    outcomes.into_iter().fold(OutcomeSum::default(), |sum, one| OutcomeSum {
        total: sum.total + one.count.total,
        rate: sum.rate + one.count.rate,
        v4: sum.v4 + one.v4,
        v6: sum.v6 + one.v6,
        other: sum.other + one.other,
    })
}

fn sum_by_end(outcomes: &[PacketOutcome], end: PacketDisposition) -> OutcomeSum {
    sum(outcomes.iter().filter(|one| one.disposition == end))
}

/// Arrived packets, their results, and the difference.
pub fn balance(report: &PacketsReport) -> TextTable {
    let heads = [left("PACKETS"), right("TOTAL"), right("/S"), right("IPV4"), right("IPV6")];
    let mut table = TextTable::new(&heads);
    let arrived = report.received;
    table.row(vec!["received".into(), count(arrived.total).into(), rate(arrived.rate).into()]);
    for (name, end) in [
        ("  forwarded", PacketDisposition::Forwarded),
        ("  handed to this host", PacketDisposition::Host),
        ("  answered here", PacketDisposition::Answered),
        ("  dropped", PacketDisposition::Dropped),
    ] {
        let one = sum_by_end(&report.outcomes, end);
        table.row(vec![
            name.into(),
            count(one.total).into(),
            rate(one.rate).into(),
            count(one.v4).into(),
            count(one.v6).into(),
        ]);
    }
    if report.earlier > 0 {
        table.row(vec!["  of servers gone before the start".into(), count(report.earlier).into()]);
    }
    let unaccounted = signed(report.unaccounted);
    let missing = if report.unaccounted == 0 {
        unaccounted.into()
    } else {
        TextCell::coloured(unaccounted, Colour::Bad)
    };
    table.row(vec!["  unaccounted".into(), missing]);
    for (name, counter) in
        [("living connections given up", report.evicted), ("notices lost", report.events_lost)]
    {
        if counter.total > 0 {
            let total = count(counter.total).into();
            table.row(vec![name.into(), total, rate(counter.rate).into()]);
        }
    }
    table
}

/// Every result of packets, its meaning, and its services.
pub fn outcomes(all: &[PacketOutcome], services: &[PacketService]) -> TextTable {
    let heads = [
        left("PACKETS OF"),
        left("ENDED AS"),
        right("TOTAL"),
        right("/S"),
        right("IPV4"),
        right("IPV6"),
        left("MEANING"),
    ];
    let mut table = TextTable::new(&heads);
    let mut line = |of: &str, one: &PacketOutcome| {
        table.row(vec![
            of.into(),
            one.name.as_str().into(),
            count(one.count.total).into(),
            rate(one.count.rate).into(),
            count(one.v4).into(),
            count(one.v6).into(),
            one.meaning.as_str().into(),
        ]);
    };
    all.iter().for_each(|one| line("all", one));
    for service in services {
        service.outcomes.iter().for_each(|one| line(&service.name, one));
    }
    table
}

/// Parts of TCP headers that were removed, by service.
pub fn removals(services: &[PacketService]) -> TextTable {
    let heads = [left("HEADERS OF"), left("REMOVED"), right("TOTAL"), right("/S")];
    let mut table = TextTable::new(&heads);
    for service in services {
        for one in &service.removals {
            table.row(vec![
                service.name.as_str().into(),
                one.field.as_str().into(),
                count(one.count.total).into(),
                rate(one.count.rate).into(),
            ]);
        }
    }
    table
}

/// One line for each service.
pub fn services(services: &[PacketService]) -> TextTable {
    let heads = [
        left("SERVICE"),
        left("FORWARD"),
        right("FLOWS"),
        right("HALF-OPEN"),
        right("FORWARDED"),
        right("/S"),
        right("TO HOST"),
        right("DROPPED"),
        right("/S"),
    ];
    let mut table = TextTable::new(&heads);
    for service in services {
        let [forwarded, host, dropped] =
            [PacketDisposition::Forwarded, PacketDisposition::Host, PacketDisposition::Dropped]
                .map(|end| sum_by_end(&service.outcomes, end));
        let half_open = count(u64::from(service.half_open));
        let alarm = format!("{half_open} (alarm)");
        table.row(vec![
            service.name.as_str().into(),
            service.forward.as_str().into(),
            count(u64::from(service.flows)).into(),
            if service.alarm { TextCell::coloured(alarm, Colour::Bad) } else { half_open.into() },
            count(forwarded.total).into(),
            rate(forwarded.rate).into(),
            count(host.total).into(),
            count(dropped.total).into(),
            rate(dropped.rate).into(),
        ]);
    }
    table
}

/// A line for each address and network that sends many of a service's SYNs; empty while no alarm stands.
pub fn flood_clients(services: &[PacketService]) -> TextTable {
    let heads = [left("SYN FLOOD OF"), left("FROM"), right("SAMPLED SYN"), right("OF")];
    let mut table = TextTable::new(&heads);
    for service in services {
        for client in service.flood_clients.iter().chain(&service.flood_networks) {
            table.row(vec![
                service.name.as_str().into(),
                client.address.as_str().into(),
                count(u64::from(client.syns)).into(),
                count(u64::from(service.sampled_syns)).into(),
            ]);
        }
    }
    table
}

/// A line for each server of each service.
pub fn servers(services: &[PacketService]) -> TextTable {
    let heads = [
        left("SERVICE"),
        left("SERVER"),
        right("FLOWS"),
        right("CONNECTIONS"),
        right("/S"),
        right("PACKETS"),
        right("/S"),
        right("DROPPED"),
        right("TO IT"),
        right("FROM IT"),
    ];
    let mut table = TextTable::new(&heads);
    let all = services.iter().flat_map(|service| {
        service.servers.iter().map(move |server| (service.name.as_str(), server))
    });
    for (service, server) in all {
        let PacketServer { name, flows, connections, bytes_in, bytes_out, outcomes, .. } = server;
        let packets = sum(outcomes);
        table.row(vec![
            service.into(),
            name.as_str().into(),
            count(u64::from(*flows)).into(),
            count(connections.total).into(),
            rate(connections.rate).into(),
            count(packets.total).into(),
            rate(packets.rate).into(),
            count(sum_by_end(outcomes, PacketDisposition::Dropped).total).into(),
            bytes(bytes_in.total).into(),
            bytes(bytes_out.total).into(),
        ]);
    }
    table
}
