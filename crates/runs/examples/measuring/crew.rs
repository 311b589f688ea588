//! Scripted children in one process, as a host runs them.

use std::pin::Pin;
use std::sync::Arc;

use deputize_authority::preflight::RunRequest;
use deputize_authority::{Consent, Preset};
use deputize_boundary::PinnedProgram;
use deputize_model::{Edge, Sleeper};
use deputize_runs::{Boundaries, Child, ChildRequest, Look, ModelRequest, on_main_thread};
use serde_json::Value;

use crate::measuring::Failure;

/// Runs `work` beside the main thread, with boundaries that its children share.
pub(crate) fn beside<T: Send>(
    work: impl AsyncFnOnce(Boundaries) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let program = PinnedProgram::open()?;
    on_main_thread(|spawner| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        runtime.block_on(work(Boundaries::new(spawner, program)))
    })
}

/// Plans a child in the person's folder that plays a script.
pub(crate) fn plan(
    look: &Look,
    preset: Preset,
    script: &Value,
    sleeper: Arc<dyn Sleeper>,
) -> Result<Child, Failure> {
    let request = ChildRequest {
        run: RunRequest {
            prompt: b"Look at the file.".to_vec(),
            preset: preset.name().to_owned(),
            ..RunRequest::default()
        },
        allow: vec![Consent::Shell],
        workdir: None,
        model: ModelRequest {
            name: Some("script:measured".to_owned()),
            ..ModelRequest::default()
        },
        ..ChildRequest::default()
    };
    let stage = Stage { script, sleeper };
    Ok(Child::plan(look, request, &stage)?)
}

/// Gives the script from memory.
struct Stage<'a> {
    script: &'a Value,
    sleeper: Arc<dyn Sleeper>,
}

impl Edge for Stage<'_> {
    fn script(&self, _: &str, _: u64) -> Result<Vec<u8>, String> {
        Ok(self.script.to_string().into_bytes())
    }

    fn sleeper(&self) -> Arc<dyn Sleeper> {
        Arc::clone(&self.sleeper)
    }
}

/// What a scripted model waits for.
pub(crate) type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
