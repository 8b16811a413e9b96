//! Hostile and hopeless clients against the built program: what breaks the rules, what is slow, what is too much.

mod corpus;
mod crowd;
mod limits;
mod slow;
