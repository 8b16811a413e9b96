//! Where the key of a certificate has to be.

use crate::notes::ConversionNotes;

use super::option_tree::OptionNode;

/// Reports a key that is not where it is looked for. `entry`: a table with `certFile` and `keyFile`.
pub fn check_key(entry: &OptionNode, notes: &mut ConversionNotes) {
    let file = entry.text_of("certFile").unwrap_or_default();
    let Some(key) = entry.get("keyFile") else { return };
    let given = key.as_text().unwrap_or_default();
    let stem = file.strip_suffix(".pem").or(file.strip_suffix(".crt"));
    let stem = stem.or(file.strip_suffix(".cert")).unwrap_or(file);
    let beside = format!("{stem}.key");
    let wanted = match file.strip_suffix("fullchain.pem") {
        Some(folder) => format!("{folder}privkey.pem"),
        None => beside.clone(),
    };
    if given == file || given == wanted || given == beside {
        return key.converted(notes);
    }
    let reason = "a key stands in the certificate's file or beside it";
    key.left_out(notes, reason, &format!("cp {given} {wanted}"));
}
