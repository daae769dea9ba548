//! Tests of the table and of encoding, derived from the table itself.

mod encoding;
mod table;
