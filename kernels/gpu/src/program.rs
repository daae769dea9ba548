//! Compiled shaders, and steps: shaders with the arrays that they work on.

use crate::buffer::{DeviceMemory, GpuBuffer};
use crate::device::{GpuDevice, describe};
use crate::error::GpuError;
use bytemuck::Pod;
use std::sync::Arc;

/// A shader in WGSL. Every file of it is valid only together with the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shader {
    /// Its name in errors.
    pub(crate) name: &'static str,
    /// Parts of its text.
    pub(crate) parts: &'static [&'static str],
}

impl Shader {
    /// Returns the whole text.
    pub(crate) fn text(&self) -> String {
        self.parts.concat()
    }
}

/// A compiled shader.
#[derive(Clone, Debug)]
pub(crate) struct CompiledShader {
    pipeline: wgpu::ComputePipeline,
}

/// Constants of a shader, by the names of its `override` declarations.
pub(crate) type Constants<'a> = &'a [(&'static str, f64)];

/// An array that a step reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShaderArray<'a> {
    /// An array that is only read.
    Read(&'a Arc<DeviceMemory>),
    /// An array that is written, and may be read.
    Write(&'a Arc<DeviceMemory>),
}

/// Returns an array that is only read.
pub(crate) fn read<T: Pod>(buffer: &GpuBuffer<T>) -> ShaderArray<'_> {
    ShaderArray::Read(&buffer.memory)
}

/// Returns an array that is written, and may be read.
pub(crate) fn write<T: Pod>(buffer: &GpuBuffer<T>) -> ShaderArray<'_> {
    ShaderArray::Write(&buffer.memory)
}

impl<'a> ShaderArray<'a> {
    fn memory(self) -> &'a Arc<DeviceMemory> {
        match self {
            Self::Read(memory) | Self::Write(memory) => memory,
        }
    }

    fn is_written(self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// A shader with the arrays that it works on, which it keeps, and the number of workgroups.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    arrays: wgpu::BindGroup,
    groups: [u32; 2],
    /// Arrays, each with whether it is written.
    pub(crate) memory: Vec<(Arc<DeviceMemory>, bool)>,
}

impl Dispatch {
    /// Adds the step to a pass.
    pub(crate) fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.arrays, &[]);
        pass.dispatch_workgroups(self.groups[0], self.groups[1], 1);
    }
}

impl GpuDevice {
    /// Makes a step of a shader. Binding `i` of group 0 is `arrays[i]`.
    ///
    /// Workgroups are numbered along x first; as many as are asked for, and some more if they are too many
    /// for one axis. Every shader therefore compares its number with the number of groups or elements.
    pub(crate) fn step(
        self: &Arc<Self>,
        shader: &Shader,
        constants: Constants<'_>,
        arrays: &[ShaderArray<'_>],
        groups: usize,
    ) -> Result<Dispatch, GpuError> {
        self.step_of_text(shader.name, shader.text(), constants, arrays, groups)
    }

    /// Makes a step of a shader whose text was generated.
    pub(crate) fn step_of_text(
        self: &Arc<Self>,
        name: &str,
        text: String,
        constants: Constants<'_>,
        arrays: &[ShaderArray<'_>],
        groups: usize,
    ) -> Result<Dispatch, GpuError> {
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        if arrays.len() > most {
            return Err(GpuError::Limit {
                what: "arrays of a shader",
                found: arrays.len() as u64,
                most: most as u64,
            });
        }
        let layout = self
            .raw
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(name),
                entries: &layout_entries(arrays),
            });
        let bits = constants
            .iter()
            .map(|&(name, value)| (name, value.to_bits()));
        let key = (text, bits.collect());
        let compile = |key: &(String, _)| self.compile(name, &key.0, constants, &layout);
        let CompiledShader { pipeline } = self.program(key, compile)?;
        let memory = arrays
            .iter()
            .map(|array| (array.memory().clone(), array.is_written()));
        let memory: Vec<_> = memory.collect();
        let entries = memory
            .iter()
            .zip(0..)
            .map(|((memory, _), binding)| wgpu::BindGroupEntry {
                binding,
                resource: memory.raw.as_entire_binding(),
            });
        let entries: Vec<_> = entries.collect();
        let bound = self.guarded(|| {
            self.raw.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(name),
                layout: &layout,
                entries: &entries,
            })
        });
        let arrays = bound.map_err(|error| GpuError::Shader {
            shader: name.to_owned(),
            reason: describe(&error),
        })?;
        Ok(Dispatch {
            pipeline,
            arrays,
            groups: self.fold(groups)?,
            memory,
        })
    }

    /// Divides workgroups among two axes.
    fn fold(&self, groups: usize) -> Result<[u32; 2], GpuError> {
        let most = self.limits.max_compute_workgroups_per_dimension as usize;
        let rows = groups.div_ceil(most.max(1)).max(1);
        if rows > most {
            return Err(GpuError::Limit {
                what: "workgroups",
                found: groups as u64,
                most: (most * most) as u64,
            });
        }
        Ok([groups.div_ceil(rows).max(1) as u32, rows as u32])
    }

    fn compile(
        &self,
        name: &str,
        text: &str,
        constants: Constants<'_>,
        layout: &wgpu::BindGroupLayout,
    ) -> Result<CompiledShader, GpuError> {
        let made = self.guarded(|| {
            let module = self.raw.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
            let all = self
                .raw
                .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: Some(name),
                    bind_group_layouts: &[Some(layout)],
                    immediate_size: 0,
                });
            self.raw
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(name),
                    layout: Some(&all),
                    module: &module,
                    entry_point: None,
                    compilation_options: wgpu::PipelineCompilationOptions {
                        constants,
                        zero_initialize_workgroup_memory: false,
                    },
                    cache: None,
                })
        });
        let pipeline = made.map_err(|error| GpuError::Shader {
            shader: name.to_owned(),
            reason: describe(&error),
        })?;
        Ok(CompiledShader { pipeline })
    }
}

fn layout_entries(arrays: &[ShaderArray<'_>]) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |(array, binding): (&ShaderArray<'_>, u32)| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage {
                read_only: matches!(array, ShaderArray::Read(_)),
            },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    arrays.iter().zip(0..).map(entry).collect()
}
