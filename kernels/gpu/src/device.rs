//! The open device: its queue, its limits, and the errors that it reports.

use crate::adapter::AdapterChoice;
use crate::error::GpuError;
use crate::program::CompiledShader;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Source and constants of a program.
pub(crate) type ProgramKey = (String, Vec<(&'static str, u64)>);

/// An open device, with all programs that were compiled for it.
pub(crate) struct GpuDevice {
    pub(crate) raw: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) info: wgpu::AdapterInfo,
    /// Seconds of a tick of the device's clock, where it has one.
    pub(crate) tick: Option<f64>,
    pub(crate) time_limit: Duration,
    /// Bytes of all buffers.
    pub(crate) held: AtomicU64,
    programs: Mutex<HashMap<ProgramKey, CompiledShader>>,
    /// The first error that nobody waited for.
    failure: Arc<Mutex<Option<GpuError>>>,
}

impl fmt::Debug for GpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.info.name).finish()
    }
}

/// Locks a mutex; what a panicking thread left behind is as good as before.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error with those of its causes that it does not say itself.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string().trim().to_owned(), |all, cause| {
        let cause = cause.to_string();
        match all.contains(cause.trim()) {
            true => all,
            false => format!("{all}: {}", cause.trim()),
        }
    })
}

/// Waits for a future of the library, which on this computer is ready as soon as it exists.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

/// Rank of a kind of adapter, the fastest first.
fn rank(kind: wgpu::DeviceType) -> usize {
    use wgpu::DeviceType::{Cpu, DiscreteGpu, IntegratedGpu, Other, VirtualGpu};
    let order = [DiscreteGpu, IntegratedGpu, VirtualGpu, Other, Cpu];
    order.iter().position(|&k| k == kind).unwrap_or(order.len())
}

/// Address space that a driver takes with its compiler of shaders, with a margin: lavapipe takes half of it.
const DRIVER_BYTES: u64 = 1 << 30;

/// Returns the adapter of a choice.
fn find_adapter(choice: &AdapterChoice) -> Result<wgpu::Adapter, GpuError> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let mut all = wait(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    all.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    if all.is_empty() {
        let mut room = Vec::<u8>::new();
        let taken = room.try_reserve_exact(DRIVER_BYTES as usize);
        // A compiler may remove an allocation that is not used.
        std::hint::black_box(&mut room);
        return Err(match taken {
            Ok(()) => GpuError::NoAdapter,
            Err(_) => GpuError::NoMemoryForDriver {
                bytes: DRIVER_BYTES,
            },
        });
    }
    let names: Vec<String> = all.iter().map(|adapter| adapter.get_info().name).collect();
    let wanted = choice.name.as_deref().unwrap_or("");
    let fits = |name: &String| name.to_lowercase().contains(&wanted.to_lowercase());
    let found = all
        .into_iter()
        .filter(|adapter| fits(&adapter.get_info().name))
        .nth(choice.number);
    found.ok_or_else(|| GpuError::NoSuchAdapter {
        wanted: wanted.to_owned(),
        found: names,
    })
}

impl GpuDevice {
    /// Opens the adapter of a choice, with all limits that it has but for those of the choice.
    pub(crate) fn open(choice: &AdapterChoice) -> Result<Self, GpuError> {
        let adapter = find_adapter(choice)?;
        let (info, mut limits) = (adapter.get_info(), adapter.limits());
        if let Some(most) = choice.most_binding_bytes {
            limits.max_storage_buffer_binding_size =
                limits.max_storage_buffer_binding_size.min(most);
        }
        let features = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        let opened = wait(adapter.request_device(&wgpu::DeviceDescriptor {
            label: None,
            required_features: features,
            required_limits: limits.clone(),
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            memory_hints: wgpu::MemoryHints::Performance,
            trace: wgpu::Trace::Off,
        }));
        let (raw, queue) = opened.map_err(|error| GpuError::NotOpened {
            adapter: info.name.clone(),
            reason: describe(&error),
        })?;
        let failure = Arc::new(Mutex::new(None));
        let seen = failure.clone();
        raw.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let what = "a command";
            let reason = describe(&error);
            locked(&seen).get_or_insert(GpuError::Refused { what, reason });
        }));
        let seen = failure.clone();
        raw.set_device_lost_callback(move |reason, message| {
            let reason = format!("{reason:?} {message}");
            locked(&seen).get_or_insert(GpuError::Lost { reason });
        });
        let has_clock = features.contains(wgpu::Features::TIMESTAMP_QUERY);
        let tick = has_clock.then(|| f64::from(queue.get_timestamp_period()) * 1e-9);
        Ok(Self {
            raw,
            queue,
            limits,
            info,
            tick,
            time_limit: choice.time_limit,
            held: AtomicU64::new(0),
            programs: Mutex::default(),
            failure,
        })
    }

    /// Returns the error that occurred without being waited for. It stays: nothing is right after it.
    pub(crate) fn check(&self) -> Result<(), GpuError> {
        locked(&self.failure).clone().map_or(Ok(()), Err)
    }

    /// Returns the error that occurred, also one that the driver has not told yet.
    pub(crate) fn check_driver(&self) -> Result<(), GpuError> {
        // Only callbacks matter: a device that cannot be asked has called them.
        let _ = self.raw.poll(wgpu::PollType::Poll);
        self.check()
    }

    /// Returns the cause of an error: the loss of the device, if that is it.
    pub(crate) fn cause(&self, error: GpuError) -> GpuError {
        self.check_driver().err().unwrap_or(error)
    }

    /// Marks the device as one that does not answer.
    ///
    /// It stays open until the process ends: the library closes a queue only when the driver has done all that was
    /// submitted, which may be never.
    pub(crate) fn give_up(&self, error: GpuError) -> GpuError {
        std::mem::forget((self.raw.clone(), self.queue.clone()));
        locked(&self.failure).get_or_insert(error).clone()
    }

    /// Calls a function of the library; errors that it would report elsewhere are returned.
    pub(crate) fn guarded<T>(&self, call: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
        let filters = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.raw.push_error_scope(filter));
        let value = call();
        // Scopes are closed in the reverse order of their opening.
        let mut errors = scopes
            .into_iter()
            .rev()
            .filter_map(|scope| wait(scope.pop()));
        let first = errors.next();
        errors.for_each(drop);
        first.map_or(Ok(value), Err)
    }

    /// Returns the program of a key, compiled once.
    pub(crate) fn program(
        &self,
        key: ProgramKey,
        compile: impl FnOnce(&ProgramKey) -> Result<CompiledShader, GpuError>,
    ) -> Result<CompiledShader, GpuError> {
        if let Some(program) = locked(&self.programs).get(&key) {
            return Ok(program.clone());
        }
        let program = compile(&key)?;
        locked(&self.programs).insert(key, program.clone());
        Ok(program)
    }

    /// Returns the bytes of all buffers.
    pub(crate) fn bytes_held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}
