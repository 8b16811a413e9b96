//! Gives memory back that nothing uses: pages of code that only starting needed, and what a change has freed.
//!
//! The kernel maps code around each page that is used, so that reading configurations, opening sockets and loading packet
//! programs leave megabytes that nothing touches again. They stay in the page cache: what is used again is mapped again
//! without reading. The allocator keeps what was freed between pieces that are in use, which after the check of a large
//! configuration is tens of megabytes.
#![allow(unsafe_code, reason = "no safe wrapper gives mapped code or freed memory back")]

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

/// Bytes of the list of mappings that are read; a longer list is not this program's.
const LIST_BYTES: u64 = 4 << 20;

/// Releases the pages of the program's code. Returns how many bytes were resident. `None`: nothing was released,
/// because the mapping is missing or differs from the file. A debugger causes a difference, and its breakpoints would
/// be lost.
///
/// # Errors
/// The kernel shows no mappings, or refuses.
pub fn release_code_pages() -> io::Result<Option<u64>> {
    let mut list = String::new();
    File::open("/proc/self/smaps")?.take(LIST_BYTES).read_to_string(&mut list)?;
    let inside = release_code_pages as fn() -> io::Result<Option<u64>> as usize;
    let Some(code) = code(&list, inside as u64).filter(|code| code.changed == 0) else {
        return Ok(None);
    };
    let length = usize::try_from(code.range.end - code.range.start).map_err(io::Error::other)?;
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(code.range.start as usize);
    // SAFETY: the range is one mapping of this program's file that can be executed and not be written, and none of its
    // pages differs from the file: whoever runs in it next finds the same bytes.
    let result = unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
    if result == 0 { Ok(Some(code.resident)) } else { Err(io::Error::last_os_error()) }
}

/// Returns freed memory to the kernel.
///
/// Costs milliseconds where much was freed, so it is for after large work, not for each piece.
pub fn release_freed_memory() {
    // SAFETY: it takes a number and touches only what the allocator itself holds as free (`malloc_trim(3)`).
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A mapping of code.
#[derive(Debug, PartialEq, Eq)]
struct CodeMapping {
    range: Range<u64>,
    /// Bytes that are resident.
    resident: u64,
    /// Bytes that are not as in the file.
    changed: u64,
}

/// The mapping around an address, in the form of `proc_pid_smaps(5)`, if it can be executed and not be written.
fn code(list: &str, inside: u64) -> Option<CodeMapping> {
    let mut found: Option<CodeMapping> = None;
    let mut changed = 0;
    for line in list.lines() {
        match (mapping(line), &mut found) {
            (Some(_), Some(_)) => break,
            (Some(MappingHead { range, rights }), none) if range.contains(&inside) => {
                if !rights.starts_with("r-x") {
                    return None;
                }
                *none = Some(CodeMapping { range, resident: 0, changed: 0 });
            }
            (None, Some(code)) => {
                if let Some(bytes) = bytes(line, "Rss:") {
                    code.resident = bytes;
                }
                // "Dirty" is not checked: the pages of a newly installed program are dirty and equal the file.
                for name in ["Anonymous:", "Swap:"] {
                    changed += bytes(line, name).unwrap_or(0);
                }
            }
            _ => {}
        }
    }
    found.map(|code| CodeMapping { changed, ..code })
}

/// The first line of a mapping.
struct MappingHead<'a> {
    /// The addresses that it covers.
    range: Range<u64>,
    /// Its rights, such as `r-xp`.
    rights: &'a str,
}

fn mapping(line: &str) -> Option<MappingHead<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    Some(MappingHead { range: start..end, rights: rest.split(' ').next()? })
}

/// A figure of a mapping, given in KiB.
fn bytes(line: &str, name: &str) -> Option<u64> {
    let rest = line.strip_prefix(name)?.trim().strip_suffix("kB")?;
    rest.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
        1000-2000 r--p 00000000 fe:00 17 /usr/bin/steelyard\nRss: 4 kB\nPrivate_Dirty: 4 kB\n\
        2000-9000 r-xp 00001000 fe:00 17 /usr/bin/steelyard\nSize: 28 kB\nRss: 20 kB\nPrivate_Clean: 20 kB\n\
        Private_Dirty: 0 kB\nAnonymous: 0 kB\n\
        9000-a000 rw-p 00008000 fe:00 17 /usr/bin/steelyard\nRss: 4 kB\nAnonymous: 4 kB\n";

    #[test]
    fn the_mapping_around_an_address_is_found_with_its_own_figures() {
        let found = code(LIST, 0x2fff).unwrap();
        assert_eq!(found, CodeMapping { range: 0x2000..0x9000, resident: 20 << 10, changed: 0 });
    }

    #[test]
    fn what_is_not_only_code_or_not_there_is_left_alone() {
        assert_eq!(code(LIST, 0x1fff), None);
        assert_eq!(code(LIST, 0x9000), None);
        assert_eq!(code(LIST, 0xa000), None);
        assert_eq!(code("", 0), None);
        assert_eq!(code("zz\n-\n1-2", 1), None);
    }

    #[test]
    fn pages_that_somebody_changed_are_counted() {
        let traced = LIST.replace("Anonymous: 0 kB", "Anonymous: 4 kB");
        assert_eq!(code(&traced, 0x2000).unwrap().changed, 4 << 10);
    }

    #[test]
    fn code_goes_on_after_it_was_given_back() {
        let given = release_code_pages().unwrap();
        assert!(given.is_none_or(|bytes| bytes > 0), "{given:?}");
        assert_eq!(code(LIST, 0x2fff).unwrap().resident, 20 << 10);
    }
}
