//! Where the key of a certificate is looked for.

/// The file name without `.pem` or `.crt`.
fn stem(file: &str) -> &str {
    file.strip_suffix(".pem").or(file.strip_suffix(".crt")).unwrap_or(file)
}

/// The file in which a certificate's key is looked for.
pub fn key_path(file: &str) -> String {
    match file.strip_suffix("fullchain.pem") {
        Some(folder) => format!("{folder}privkey.pem"),
        None => format!("{}.key", stem(file)),
    }
}

/// Whether the key is where Steelyard looks for it.
pub fn has_key_beside(file: &str, key: &str) -> bool {
    key.is_empty() || key == file || key == key_path(file) || key == format!("{}.key", stem(file))
}
