//! Version of the layout of a serialised processor.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Version of the layout that this library writes and reads.
const VERSION: u32 = 4;

/// Marks the layout of a checkpoint; no other version is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        VERSION.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Self),
            found => Err(D::Error::custom(format!(
                "the checkpoint has version {found}, expected {VERSION}: take it again with this version of cp2"
            ))),
        }
    }
}
