//! SYNs that a firewall, a router or the server itself refuses by ICMP.

use serde_json::json;
use trace::analysis::AnalysisSettings;

use crate::capture::{MS, append_frame, first_cause, report_of_file, write_pcap};
use crate::failure_rows::ROWS;
use crate::script::ScriptedConnection;

/// A message of ICMP "unreachable" from this host about a packet.
fn icmp(by: [u8; 4], code: u8, about: &[u8]) -> Vec<u8> {
    // Addresses, type and IP header of the packet; behind it the ports and the number.
    let quoted = &about[14..14 + 28];
    let total = (20 + 8 + quoted.len()) as u16;
    let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    out.extend(total.to_be_bytes());
    out.extend([0, 9, 0, 0, 64, 1, 0, 0]);
    out.extend(by);
    out.extend([10, 0, 0, 1, 3, code, 0, 0, 0, 0, 0, 0]);
    out.extend(quoted);
    out
}

#[test]
fn a_refusal_by_icmp_names_who_refuses_and_why() {
    let unanswered = ROWS.iter().find(|row| row.name == "unanswered").unwrap();
    for (by, code, cause, words) in [
        ([10, 0, 0, 2], 3, "CONNECT_REFUSED server", "nobody listens on that port"),
        ([10, 0, 0, 2], 10, "CONNECT_REFUSED server", "a firewall forbids it"),
        ([10, 0, 0, 254], 13, "CONNECT_REFUSED network", "a firewall forbids it"),
        ([10, 0, 0, 254], 1, "CONNECT_REFUSED network", "the host is not reached"),
    ] {
        let mut one = ScriptedConnection::begin(1, 0);
        (unanswered.script)(&mut one);
        let mut bytes = write_pcap(&one.packets[..1]);
        let notice = icmp(by, code, &one.packets[0].frame());
        append_frame(&mut bytes, 20 * MS, &notice);
        let report = report_of_file(&bytes, AnalysisSettings::default());
        let report = serde_json::to_value(report).unwrap();
        assert_eq!(first_cause(&report), cause);
        let failure = &report["verdict"]["failures"][0];
        let address = by.map(|byte| byte.to_string()).join(".");
        let sentence = failure["sentence"].as_str().unwrap();
        assert!(sentence.contains(words) && sentence.contains(&address), "{sentence}");
        assert_eq!(failure["evidence"]["from_packet"], 2);
        assert_eq!(report["capture"]["unread"], json!([]), "it was read");
    }
}
