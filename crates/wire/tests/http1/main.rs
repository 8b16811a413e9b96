//! Tests of the HTTP/1 codec from outside: the corpus, properties, and a second parser to agree with.

mod corpus;
mod properties;
mod reader;
mod replay;
