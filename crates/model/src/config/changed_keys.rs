//! Generates the enumeration of a table's keys, and the comparison that finds which keys differ.

macro_rules! changed_keys {
    ($(#[$doc:meta])* $name:ident of $object:ident besides ($($beside:ident),*) $(and $extra:ident = $extra_text:literal)?:
     $($variant:ident = $text:literal => $field:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each variant is the key of its name")]
        pub enum $name { $($variant,)* $($extra,)? }

        impl $name {
            /// The key in the file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* $(Self::$extra => $extra_text,)? }
            }

            pub(crate) fn between(old: &$object, new: &$object) -> Vec<Self> {
                // Names every field, so that the compiler rejects a new one that is not listed.
                let $object { $($field: _,)* $($beside: _,)* } = old;
                let mut keys = Vec::new();
                $(if old.$field != new.$field { keys.push(Self::$variant); })*
                keys
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str(self.name())
            }
        }
    };
}

pub(super) use changed_keys;
