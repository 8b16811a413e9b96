//! Named defects of packets: a closed list, each with the name that metrics use.

macro_rules! defects {
    ($(#[$about:meta])* pub enum $type:ident; $($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
        pub enum $type {
            $($(#[$doc])* #[error($text)] $name,)*
        }

        impl $type {
            pub const ALL: &[$type] = &[$($type::$name,)*];

            /// The name in metrics, in kebab-case.
            pub const fn name(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }
        }
    };
}

pub(crate) use defects;
