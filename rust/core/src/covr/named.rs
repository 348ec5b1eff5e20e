//! Enums whose variants have names in files: one table gives the variants, their order and their names.

macro_rules! named {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($variant),+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

pub(super) use named;
