//! Shortens the log of libbpf and the verifier: the line with the reason, and a remedy. It loads nothing.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use libbpf_rs::{ErrorKind, PrintLevel, set_print};

/// The longest part of a log that is stored: its end contains the verifier's reason.
/// The verifier's last lines name the instruction and the reason.
const MAX_LOG_BYTES: usize = 1 << 16;

thread_local! {
    /// The log of this thread during a capture.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The result of a call, and what libbpf wrote to its log meanwhile.
pub struct CapturedLog<T> {
    pub result: T,
    pub log: String,
}

/// Calls `run` and captures libbpf's log of this thread meanwhile.
pub fn capture_log<T>(run: impl FnOnce() -> T) -> CapturedLog<T> {
    static HEARD: Once = Once::new();
    HEARD.call_once(|| {
        set_print(Some((PrintLevel::Warn, record_message)));
    });
    SAID.with_borrow_mut(|log| *log = Some(String::new()));
    let result = run();
    let log = SAID.with_borrow_mut(Option::take);
    CapturedLog { result, log: log.unwrap_or_default() }
}

fn record_message(_: PrintLevel, text: String) {
    SAID.with_borrow_mut(|log| match log {
        Some(log) => {
            log.push_str(&text);
            if log.len() > MAX_LOG_BYTES {
                let mut from = log.len() - MAX_LOG_BYTES;
                while !log.is_char_boundary(from) {
                    from += 1;
                }
                log.drain(..from);
            }
        }
        // No capture runs. Ignored: without standard error there is no other place to write.
        None => drop(std::io::stderr().write_all(text.as_bytes())),
    });
}

/// Why the kernel refused a program or a map, and what helps.
pub struct LoadRefusal {
    /// The kernel's reason in one line.
    pub why: String,
    pub remedy: &'static str,
}

/// Finds the reason of a refusal in the log.
pub fn explain_refusal(log: &str, kind: ErrorKind) -> LoadRefusal {
    if let Some((program, reason)) = verifier_message(log) {
        let why = format!("its verifier says of `{program}`: {reason}");
        let remedy = "use a newer kernel (5.18 at least), or report this line with `uname -r`";
        return LoadRefusal { why, remedy };
    }
    let plain = |line: &str| line.trim().trim_start_matches("libbpf: ").to_owned();
    let failed = |line: &&str| line.contains("failed") || line.contains("Error");
    let why = log.lines().find(failed).map_or_else(|| "it does not say why".to_owned(), plain);
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    let remedy = if kind == ErrorKind::OutOfMemory
        || has(&["ENOMEM", "E2BIG", "Cannot allocate memory", "Argument list too long"])
    {
        "the tables are too large for this machine: lower `flows` in `[packets]`"
    } else if kind == ErrorKind::PermissionDenied || has(&["EPERM", "Operation not permitted"]) {
        "packet programs are forbidden here: look at CAP_BPF and CAP_NET_ADMIN, at the kernel's lockdown, and at the \
         seccomp profile of a container"
    } else {
        "Linux 5.18 or later with CONFIG_BPF_SYSCALL=y and CONFIG_DEBUG_INFO_BTF=y is needed"
    };
    LoadRefusal { why, remedy }
}

/// The program that the verifier rejected, and its last message.
fn verifier_message(log: &str) -> Option<(&str, &str)> {
    let (before, log) = log.rsplit_once("-- BEGIN PROG LOAD LOG --")?;
    let program = before.rsplit_once("prog '")?.1.split('\'').next()?;
    let log = log.split("-- END PROG LOAD LOG --").next()?;
    let says = |line: &&str| !line.is_empty() && !line.starts_with("processed ");
    let reason = log.lines().map(str::trim).rfind(says)?;
    Some((program, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "libbpf: prog 'balance': BPF program load failed: Permission denied\n\
        libbpf: prog 'balance': -- BEGIN PROG LOAD LOG --\n\
        0: R1=ctx() R10=fp0\n; int balance(struct xdp_md *ctx) @ lb.bpf.c:150\n\
        1: (79) r0 = *(u64 *)(r2 +0)\nR2 !read_ok\n\
        processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n\
        -- END PROG LOAD LOG --\nlibbpf: prog 'balance': failed to load: -13\n\
        libbpf: failed to load object 'lb'\n";

    #[test]
    fn each_refusal_is_one_line_with_a_remedy() {
        let unknown = LOG.replace("R2 !read_ok", "unknown func bpf_loop#181");
        let rows = [
            (LOG, ErrorKind::PermissionDenied, "`balance`: R2 !read_ok", "newer kernel"),
            (&unknown, ErrorKind::InvalidInput, "unknown func bpf_loop#181", "newer kernel"),
            (
                "libbpf: Error in bpf_create_map_xattr(flows): -ENOMEM. Retrying without BTF.\n\
                 libbpf: map 'flows': failed to create: -ENOMEM\n",
                ErrorKind::Other,
                "flows",
                "lower `flows`",
            ),
            (
                "libbpf: map 'x': failed to create: -E2BIG\n",
                ErrorKind::Other,
                "'x'",
                "lower `flows`",
            ),
            (
                "libbpf: map 'vips4': failed to create: -EPERM\n",
                ErrorKind::PermissionDenied,
                "vips4",
                "forbidden here",
            ),
            ("", ErrorKind::Other, "does not say", "CONFIG_DEBUG_INFO_BTF"),
        ];
        for (log, kind, why, remedy) in rows {
            let LoadRefusal { why: told, remedy: advice } = explain_refusal(log, kind);
            assert!(told.contains(why) && !told.contains('\n'), "{told}");
            assert!(advice.contains(remedy), "{told}: {advice}");
        }
    }

    #[test]
    fn only_who_listens_hears_and_not_without_end() {
        let CapturedLog { log, .. } = capture_log(|| {
            record_message(PrintLevel::Warn, "first ".to_owned());
            (0..3).for_each(|_| record_message(PrintLevel::Warn, "ä".repeat(MAX_LOG_BYTES / 2)));
            record_message(PrintLevel::Warn, "last".to_owned());
        });
        assert!(log.ends_with("last") && !log.contains("first") && log.len() <= MAX_LOG_BYTES);
        assert_eq!(capture_log(|| ()).log, "");
    }
}
