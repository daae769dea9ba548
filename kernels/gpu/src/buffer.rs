//! Arrays in the memory of the device.

use crate::device::{GpuDevice, describe};
use crate::error::GpuError;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory of the device, which lives as long as an array or a step that uses it.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    pub(crate) raw: wgpu::Buffer,
    device: Arc<GpuDevice>,
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        self.device
            .held
            .fetch_sub(self.raw.size(), Ordering::Relaxed);
    }
}

/// An array in the memory of the device.
#[derive(Debug)]
pub(crate) struct GpuBuffer<T> {
    pub(crate) memory: Arc<DeviceMemory>,
    len: usize,
    what: &'static str,
    kind: PhantomData<T>,
}

impl<T: Pod> GpuBuffer<T> {
    /// Allocates an array of so many elements, all 0.
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        what: &'static str,
        len: usize,
    ) -> Result<Self, GpuError> {
        // Every type of element finds room for one, and shaders may take pairs of floats.
        let bytes = ((len * size_of::<T>()) as u64).next_multiple_of(8).max(16);
        let limits = &device.limits;
        let most = limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size);
        if bytes > most {
            return Err(GpuError::TooLarge { what, bytes, most });
        }
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let raw = allocate(device, what, bytes, usage)?;
        device.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(Self {
            memory: Arc::new(DeviceMemory {
                raw,
                device: device.clone(),
            }),
            len,
            what,
            kind: PhantomData,
        })
    }

    /// Allocates an array with these elements.
    pub(crate) fn from_slice(
        device: &Arc<GpuDevice>,
        what: &'static str,
        values: &[T],
    ) -> Result<Self, GpuError> {
        let buffer = Self::new(device, what, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Replaces the first elements.
    pub(crate) fn write(&self, values: &[T]) -> Result<(), GpuError> {
        let fitting = values.get(..self.len).unwrap_or(values);
        if fitting.is_empty() {
            return Ok(());
        }
        let bytes: &[u8] = bytemuck::cast_slice(fitting);
        let device = &self.memory.device;
        let written = device.guarded(|| device.queue.write_buffer(&self.memory.raw, 0, bytes));
        written.map_err(|error| memory_error(device, self.what, bytes.len() as u64, error))
    }

    /// Returns the bytes of the elements.
    pub(crate) fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Returns the name of the array.
    pub(crate) fn what(&self) -> &'static str {
        self.what
    }
}

/// Allocates memory of the device.
pub(crate) fn allocate(
    device: &GpuDevice,
    what: &'static str,
    bytes: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, GpuError> {
    let made = device.guarded(|| {
        device.raw.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size: bytes,
            usage,
            mapped_at_creation: false,
        })
    });
    made.map_err(|error| memory_error(device, what, bytes, error))
}

/// Converts an error of an array of so many bytes.
pub(crate) fn memory_error(
    device: &GpuDevice,
    what: &'static str,
    bytes: u64,
    error: wgpu::Error,
) -> GpuError {
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory {
            what,
            bytes,
            held: device.bytes_held(),
        },
        other => GpuError::Refused {
            what,
            reason: describe(&other),
        },
    }
}
