//! The page for browsers, as built from `web/`: its files, embedded in the program.
//!
//! It serves nothing, and the page loads nothing from elsewhere: the daemon sends these files and adds headers.

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// The path of its URL.
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

/// All files, the page itself first.
pub const FILES: [PageFile; 4] = [
    PageFile {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../web/dist/index.html"),
    },
    PageFile {
        path: "/app.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../web/dist/app.js"),
    },
    PageFile {
        path: "/app.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../web/dist/app.css"),
    },
    PageFile {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("../web/dist/icon.svg"),
    },
];

/// The API as an OpenAPI 3.1 document, written by a test from the types.
pub const OPENAPI: &str = include_str!("../../../docs/reference/openapi.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_that_is_not_here() {
        let html = std::str::from_utf8(FILES[0].bytes).unwrap();
        let paths: Vec<&str> = ["src=\"", "href=\""]
            .into_iter()
            .flat_map(|mark| html.split(mark).skip(1).filter_map(|rest| rest.split('"').next()))
            .collect();
        assert!(paths.len() >= 3, "{html}");
        for path in paths {
            assert!(FILES.iter().any(|file| file.path == path), "{path}");
        }
    }

    #[test]
    fn the_first_view_is_small() {
        let bytes: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(bytes <= 300 * 1024, "{bytes} bytes, uncompressed");
    }
}
