//! Fields of the head for the server: some are taken out, lines are added. The request line and the body stay.

/// A field line of a head.
#[derive(Clone, Copy, Debug)]
pub struct HeadFieldLine<'h> {
    pub name: &'h [u8],
    /// Without blanks around it.
    pub value: &'h [u8],
}

/// Writes `message`, which begins with a head, without the fields that are dropped, and with `lines` behind the others.
pub fn write_fields(
    message: &[u8],
    is_dropped: &dyn Fn(HeadFieldLine<'_>) -> bool,
    lines: &[u8],
    out: &mut Vec<u8>,
) {
    let mut at = line_end(message, 0);
    out.extend_from_slice(message.get(..at).unwrap_or_default());
    while let Some(line) = message.get(at..line_end(message, at)).filter(|line| line.len() > 2) {
        at += line.len();
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let name = line.get(..colon).unwrap_or_default();
        let value = line.get(colon + 1..).unwrap_or_default().trim_ascii();
        if !is_dropped(HeadFieldLine { name, value }) {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(lines);
    out.extend_from_slice(message.get(at..).unwrap_or_default());
}

/// Where the line that begins at `at` ends.
fn line_end(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_goes_and_what_is_added_stands_before_the_body() {
        let message =
            b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1 \r\nX-B:2\r\nX-A: 3\r\n\r\nX-A: body\r\n";
        let is_dropped = |line: HeadFieldLine<'_>| line.name == b"X-A" && line.value != b"3";
        let mut out = Vec::new();
        write_fields(message, &is_dropped, b"X-C: 4\r\n", &mut out);
        let expected =
            "GET / HTTP/1.1\r\nHost: a\r\nX-B:2\r\nX-A: 3\r\nX-C: 4\r\n\r\nX-A: body\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
