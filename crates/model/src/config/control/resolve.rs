//! Defaults of the control table that depend on the user, and its short form `off`.

use std::borrow::Cow;
use std::path::Path;

use super::standard_paths::standard_paths;
use crate::config::schema::TableSchema;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::setting_layers::resolve_layers;
use crate::config::value::ConfigValue;

/// The keyword for no socket.
pub const NO_SOCKET: &str = "off";
const TURNED_OFF: SettingOrigin = SettingOrigin::Derived("control is off");
const OF_USER: SettingOrigin = SettingOrigin::Derived("the path of this user");

/// Fills the control table of the effective settings.
pub fn resolve_control(global: &mut ConfigSection, schema: &'static TableSchema) {
    if matches!(global.value("control"), Some(ConfigValue::Unset(_))) {
        let mut control = resolve_layers(schema, &[], true);
        control.set("socket", ConfigValue::Unset(NO_SOCKET), TURNED_OFF);
        global.set_table("control", control, TURNED_OFF);
    }
    let Some(control) = global.table_mut("control") else { return };
    let paths = standard_paths();
    set_user_path(control, "socket", &paths.socket);
    set_user_path(control, "state", &paths.state);
}

/// The schema's default stays where it is meant, so that it is explained as one.
fn set_user_path(control: &mut ConfigSection, key: &str, path: &Path) {
    let unwritten = control.setting(key).is_some_and(|it| it.origin == SettingOrigin::Default);
    if unwritten && control.text(key).map(Path::new) != Some(path) {
        let value = Cow::Owned(path.display().to_string());
        control.set(key, ConfigValue::Text(value), OF_USER);
    }
}
