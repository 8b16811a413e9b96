//! `crt-store` sections: the files that `crt "@store/name"` stands for, and what becomes of the options of `load`.

use std::collections::BTreeMap;

use crate::certificate_file::{has_key_beside, key_path};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::lex::{ConfigLine, KeywordReader};
use super::section::HaproxySection;

/// Files by the names under which other lines refer to them: `@store/alias`.
#[derive(Clone, Debug, Default)]
pub struct CertificateAliases(BTreeMap<String, StoredCertificate>);

/// A certificate of a store.
#[derive(Clone, Debug, Default)]
struct StoredCertificate {
    file: String,
    /// It is ordered from an authority or made up, so that there may be no file.
    is_made: bool,
}

/// The folders of files that are named without a folder: `crt-base` and `key-base`.
#[derive(Clone, Debug, Default)]
pub struct StoreFolders {
    pub certificates: String,
    pub keys: String,
}

/// A `load` line as far as it is read.
#[derive(Clone, Debug, Default)]
struct LoadLine {
    /// The file as the line names it.
    name: String,
    file: String,
    alias: String,
    is_made: bool,
    key: Option<SideFile>,
    response: Option<SideFile>,
}

/// A file beside a certificate.
#[derive(Clone, Debug)]
struct SideFile {
    path: String,
    source: SourcePlace,
}

impl CertificateAliases {
    /// Reads a section. `folders`: those of the global section.
    pub fn add(
        &mut self,
        section: &HaproxySection,
        mut folders: StoreFolders,
        notes: &mut ConversionNotes,
    ) {
        notes.converted(section.source.whole());
        for line in &section.lines {
            match line.word(0) {
                "crt-base" => {
                    line.word(1).clone_into(&mut folders.certificates);
                    notes.converted(line.source);
                }
                "key-base" => {
                    line.word(1).clone_into(&mut folders.keys);
                    notes.converted(line.source);
                }
                "load" => {
                    notes.converted(line.source.range(0, 1));
                    let load = LoadLine::read(line, &folders, notes);
                    load.note_side_files(line, notes);
                    self.insert(&section.name, load);
                }
                other => {
                    let reason = format!("nothing is known of `{other}` in a section `crt-store`");
                    notes.left_out(line.source.whole(), &line.text(), &reason, "");
                }
            }
        }
    }

    fn insert(&mut self, store: &str, load: LoadLine) {
        let certificate = StoredCertificate { file: load.file.clone(), is_made: load.is_made };
        for name in [&load.name, &load.alias] {
            if !name.is_empty() {
                let joint = if name.starts_with('/') { "" } else { "/" };
                self.0.insert(format!("@{store}{joint}{name}"), certificate.clone());
            }
        }
    }

    /// The file that a reference stands for.
    ///
    /// # Errors
    /// No store has the name, or its certificate has no file.
    pub fn file(&self, reference: &str) -> Result<String, &'static str> {
        match self.0.get(reference) {
            None => Err("no `crt-store` before it has a certificate of this name"),
            Some(found) if found.is_made => {
                Err("this certificate is ordered or made up by HAProxy, so that no file has it")
            }
            Some(found) => Ok(found.file.clone()),
        }
    }
}

impl LoadLine {
    fn read(line: &ConfigLine, folders: &StoreFolders, notes: &mut ConversionNotes) -> LoadLine {
        let mut load = LoadLine::default();
        let mut words = line.keywords(1);
        while let Some(word) = words.keyword() {
            match word {
                "crt" => {
                    words.value().clone_into(&mut load.name);
                    load.file = below(&load.name, &folders.certificates);
                    words.mark_converted();
                }
                "alias" => {
                    words.value().clone_into(&mut load.alias);
                    words.mark_converted();
                }
                "key" => {
                    let path = below(words.value(), &folders.keys);
                    load.key = Some(SideFile { path, source: words.source() });
                }
                "ocsp" => {
                    let path = below(words.value(), &folders.certificates);
                    load.response = Some(SideFile { path, source: words.source() });
                }
                _ => load.note_option(word, &mut words, &line.text(), notes),
            }
        }
        load
    }

    fn note_option(
        &mut self,
        word: &str,
        words: &mut KeywordReader<'_>,
        text: &str,
        notes: &mut ConversionNotes,
    ) {
        let value = words.value();
        let source = words.source();
        match (word, value) {
            ("ocsp-update" | "jwt" | "generate-dummy", "off") => words.mark_converted(),
            ("acme" | "domains" | "ips", _) => {
                self.is_made = true;
                let reason =
                    "the certificate is not ordered: listeners that have no other are not opened";
                notes.left_out(source, text, reason, "`tls.acme` of the service");
            }
            ("generate-dummy", _) => {
                self.is_made = true;
                let reason =
                    "no certificate is made up: listeners that have no other are not opened";
                notes.left_out(source, text, reason, "`tls.certificates`");
            }
            ("issuer", _) => {
                let reason = "who signed a certificate is looked for in the certificate's own file";
                notes.changed(source, text, reason, "append it to the certificate's file");
            }
            ("sctl", _) => {
                let reason = "clients get no list of timestamps (Certificate Transparency)";
                notes.left_out(source, text, reason, "a certificate that holds them");
            }
            ("ocsp-update", _) => {
                let reason = "responses of OCSP are not fetched, only stapled from a file";
                notes.left_out(source, text, reason, "another program writes the `.ocsp` file");
            }
            ("jwt", _) => {
                notes.left_out(source, text, "tokens are not verified", "verify at the servers");
            }
            ("keytype" | "bits" | "curves", _) => {
                let reason = "no key is made, so that none has this form";
                notes.changed(source, text, reason, "");
            }
            _ => {
                let reason = format!("nothing is known of `{word}` of a certificate");
                notes.left_out(source, text, &reason, "");
            }
        }
    }

    /// A key, and a response of OCSP, have to be where they are looked for.
    fn note_side_files(&self, line: &ConfigLine, notes: &mut ConversionNotes) {
        let mut note = |side: &SideFile, is_found: bool, wanted: String, reason: &str| {
            if is_found {
                notes.converted(side.source);
            } else {
                let command = format!("cp {} {wanted}", side.path);
                notes.left_out(side.source, &line.text(), reason, &command);
            }
        };
        if let Some(key) = &self.key {
            let reason = "a key stands in the certificate's file or beside it";
            note(key, has_key_beside(&self.file, &key.path), key_path(&self.file), reason);
        }
        if let Some(response) = &self.response {
            let beside = response_path(&self.file);
            let reason = "a response of OCSP that is stapled stands beside the certificate";
            note(response, response.path == beside, beside, reason);
        }
    }
}

/// The file beside a certificate that holds its response of OCSP.
fn response_path(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map_or(0, |(_, end)| end.len() + 1);
    format!("{}.ocsp", &file[..file.len() - end])
}

/// A file below a folder, unless it is a whole path.
fn below(file: &str, folder: &str) -> String {
    let is_whole = file.starts_with('/') || folder.is_empty();
    if is_whole { file.to_owned() } else { format!("{}/{file}", folder.trim_end_matches('/')) }
}
