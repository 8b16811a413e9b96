//! What authentication needs beside an exchange: objects of `[auth]` with their files, and checks that take long.

pub mod auth_object;
pub(crate) mod cookie_pairs;
pub(crate) mod key_parameter;
pub(crate) mod password_checks;
pub(crate) mod proven_passwords;
pub(crate) mod proven_tokens;
pub(crate) mod question;
pub(crate) mod question_answer;
pub(crate) mod question_slots;
pub(crate) mod remembered_answers;
pub mod token_users;
