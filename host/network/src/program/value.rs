//! Values that messages of programs consist of.

/// A value of a message. It travels as its bytes, the lowest first.
pub trait MessageValue: Copy + Default + Send + Sync {
    /// Bytes of a value.
    const BYTES: usize;

    /// Appends the bytes of the value.
    fn append(self, out: &mut Vec<u8>);

    /// Reads a value from as many bytes as it has; the default where there are fewer.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! values {
    ($($type:ty)*) => {$(
        impl MessageValue for $type {
            const BYTES: usize = size_of::<$type>();

            fn append(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or_else(Self::default, |bytes| Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

values! { u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

/// Returns the bytes of values.
pub(super) fn bytes_of<T: MessageValue>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len().saturating_mul(T::BYTES));
    for value in values {
        value.append(&mut bytes);
    }
    bytes
}

/// Fills the first values with those of a message; false where it ends within a value.
pub(super) fn fill<T: MessageValue>(values: &mut [T], bytes: &[u8]) -> bool {
    let each = bytes.chunks_exact(T::BYTES.max(1));
    let whole = each.remainder().is_empty();
    for (value, bytes) in values.iter_mut().zip(each) {
        *value = T::read(bytes);
    }
    whole
}
