//! Tests of the instruction table and its encoding, derived from the table.

mod encoding;
mod table;
