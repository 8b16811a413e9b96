//! Target of the configuration: any text is either a configuration or a list of mistakes, and both can be displayed.

use model::config;

/// A text. Bytes that are not UTF-8 are replaced, because the parser's callers read text.
pub fn load(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match config::load(&text, "fuzz.toml") {
        Ok(checked) => {
            let shown = config::explain(&checked);
            assert!(
                config::load(&shown, "shown.toml").is_ok(),
                "what explain shows is refused:\n{shown}"
            );
        }
        Err(findings) => assert!(!findings.to_string().is_empty(), "refused without a reason"),
    }
}

/// Every configuration below `examples`.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Tokens of the configuration language.
pub const WORDS: &[&[u8]] = &[
    b"\n",
    b"=",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b"'''",
    b".",
    b",",
    b"#",
    b"[service.a]\n",
    b"[pool.b]\n",
    b"[[service.a.rule]]\n",
    b"listen = \"127.0.0.1:80\"\n",
    b"forward = \"http\"\n",
    b"forward = \"tcp\"\n",
    b"pool = \"b\"\n",
    b"servers = [{ name = \"x\", address = \"127.0.0.1:1\" }]\n",
    b"weight = 3",
    b"probe = { http = \"/\", interval = \"2s\" }\n",
    b"\"10ms\"",
    b"\"64KiB\"",
    b"\"10Gbit/s\"",
    b"99999999999999999999",
    b"-1",
    b"true",
    b"inf",
    b"1979-05-27",
    b"\xc3\xa4",
    b"\xff",
];
