//! Following resources of a cluster, as `watch` and `record` do.

mod followed;
mod report;
mod session;
mod source;

use crate::arguments::{FollowOptions, Kind, Print, ServerOptions};
use crate::error::CommandError;
use crate::output::background::Background;
use crate::output::messages;
use crate::output::printer::{Form, Printed, Printer};
use crate::output::progress::Progress;
use crate::output::shown::Shown;
use crate::resource::{Discoverer, Named, resources};
use crate::system::stop::{Stop, stop};
use followed::Followed;
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::file::{RecorderConfig, Tape};
use listwatch::http::{Cluster, ClusterOptions, HttpClient};
use listwatch::reactor::AsyncIo;
use listwatch::{Client, Clock, Executor, InformerConfig, run};
use serde::de::DeserializeOwned;
use session::{Session, TICK};
use smol::future::{or, pending};
use source::Source;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The outputs of the command.
#[derive(Clone, Copy)]
pub(super) struct Outputs<'a> {
    pub(super) print: Option<Print>,
    pub(super) form: Form,
    pub(super) recording: Option<Recording<'a>>,
}

#[derive(Clone, Copy)]
pub(super) struct Recording<'a> {
    pub(super) file: &'a Path,
    pub(super) include_secrets: bool,
}

/// Follows resources until the end is requested.
///
/// # Errors
/// A resource cannot be followed, recorded or printed.
pub(super) fn follow(options: &FollowOptions, outputs: Outputs<'_>) -> Result<(), CommandError> {
    match options.kind {
        // Metadata are printed as the server words them.
        Kind::Meta if matches!(outputs.form, Form::Objects { .. }) => follow_as::<Raw>(options, outputs),
        Kind::Raw => follow_as::<Raw>(options, outputs),
        Kind::Meta => follow_as::<MetadataOnly>(options, outputs),
        Kind::Value => follow_as::<serde_json::Value>(options, outputs),
    }
}

fn follow_as<T: DeserializeOwned + Shown + Unpin>(
    options: &FollowOptions,
    outputs: Outputs<'_>,
) -> Result<(), CommandError> {
    let clock = Clock::real();
    let mut stop = stop(&clock, options.duration).map_err(CommandError::Signals)?;
    run(&clock, &Executor::new(), async {
        // A program that reads the output may write to the same terminal.
        let progress = Progress::words(!(outputs.print.is_some() && stdout_is_pipe()));
        let cluster = find_cluster(&mut stop, options.server.clone()).await?;
        for warning in cluster.warnings() {
            messages::print(format_args!("warning: {warning}"));
        }
        let resources = find_resources(&mut stop, &cluster, options, &clock, &progress).await?;
        let uid = identify(outputs.recording, &cluster, &clock, &mut stop).await?;
        let tape = tape(outputs.recording, &resources, &cluster, uid)?;
        let printed = resources.iter().map(|Named { name, resource }| Printed::new(name, resource)).collect();
        let follow = |Named { name, resource }| {
            let source = Source::new(cluster.transport()?.with_reactor(Arc::new(AsyncIo)), tape.as_ref());
            let as_table = outputs.form.is_table() && outputs.recording.is_none();
            Ok(Followed::<T>::start(name, resource, as_table, config(options), source, &clock))
        };
        let followed = resources.into_iter().map(follow).collect::<Result<Vec<_>, CommandError>>()?;
        let all_namespaces = options.scope(cluster.configured_namespace()).namespace().is_none();
        let session = Session {
            options,
            print: outputs.print,
            recorded: outputs.recording.map(|recording| recording.file),
            clock: clock.clone(),
            printer: Printer::new(Background::stdout(), outputs.print, outputs.form, printed, all_namespaces),
            form: outputs.form,
            cluster: &cluster,
            progress,
            may_prompt: cluster.may_prompt(),
            followed,
            first: 0,
        };
        session.run(&mut stop).await
    })
}

/// The cluster, unless the end is requested first: a kubeconfig may be a pipe without a writer.
pub(super) async fn find_cluster(stop: &mut Stop, options: ServerOptions) -> Result<Cluster, CommandError> {
    if let Some(url) = &options.server {
        return chosen(&options).at(url).map_err(CommandError::Address);
    }
    let stopped = async {
        stop.await;
        Err(CommandError::NeverSynced("reading the kubeconfig".into()))
    };
    or(smol::unblock(move || configured(&options)), stopped).await
}

/// The resources, unless the end is requested first.
pub(super) async fn find_resources(
    stop: &mut Stop,
    cluster: &Cluster,
    options: &FollowOptions,
    clock: &Clock,
    progress: &Progress,
) -> Result<Vec<Named>, CommandError> {
    let discoverer = Discoverer::new(options, clock.clone(), progress);
    let stopped = async {
        stop.await;
        None
    };
    let shown = async {
        // The progress line would overwrite a question for a credential.
        while progress.is_visible() && !cluster.may_prompt() {
            progress.show(&discoverer.status());
            clock.sleep(TICK).await;
        }
        pending().await
    };
    let found = async { Some(resources(cluster, options, &discoverer).await.map_err(CommandError::from)) };
    let found = or(stopped, or(found, or(shown, messages::keep_writing()))).await;
    progress.hide();
    found.unwrap_or_else(|| Err(CommandError::NeverSynced(discoverer.status())))
}

fn configured(options: &ServerOptions) -> Result<Cluster, CommandError> {
    let chosen = chosen(options);
    Ok(options.kubeconfig.as_ref().map_or_else(|| chosen.infer(), |file| chosen.kubeconfig(file))?)
}

fn chosen(options: &ServerOptions) -> ClusterOptions {
    let chosen = ClusterOptions::new().on_warning(messages::warn).credentials_over_http(options.credentials_over_http);
    let chosen = chosen.insecure_skip_tls_verify(options.insecure_skip_tls_verify);
    let chosen = chosen.impersonate_groups(options.groups.clone());
    let chosen = options.context.iter().fold(chosen, ClusterOptions::context);
    let chosen = options.user.iter().fold(chosen, ClusterOptions::impersonate);
    options.token.iter().fold(chosen, |chosen, token| chosen.token(token))
}

/// The identity of the cluster, if it is recorded and the server tells it.
async fn identify(
    recording: Option<Recording<'_>>,
    cluster: &Cluster,
    clock: &Clock,
    stop: &mut Stop,
) -> Result<Option<String>, CommandError> {
    if recording.is_none() {
        return Ok(None);
    }
    let client = Client::new(HttpClient::from(cluster), clock.clone());
    let stopped = async {
        stop.await;
        Err(CommandError::NeverSynced("asking for the identity of the cluster".into()))
    };
    or(async { Ok(client.cluster_uid().await) }, stopped).await
}

/// The tape of a recording.
fn tape(
    recording: Option<Recording<'_>>,
    resources: &[Named],
    cluster: &Cluster,
    uid: Option<String>,
) -> Result<Option<Tape>, CommandError> {
    let Some(Recording { file, include_secrets }) = recording else { return Ok(None) };
    let config = RecorderConfig::new().started(wall_clock()).server(cluster.server());
    let config = uid.into_iter().fold(config, RecorderConfig::cluster);
    let config = config.include_secrets(include_secrets).fail_unrecorded(true);
    let resources = resources.iter().map(|Named { resource, .. }| resource);
    Ok(Some(Tape::create_for(file, resources, config)?))
}

/// The date in the header of a recording.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
fn wall_clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// A command reconnects without jitter: it is one client, not a fleet.
fn config(options: &FollowOptions) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = !options.no_watch_list;
    config.reflector.reconnect_jitter = Duration::ZERO;
    config
}

#[cfg(unix)]
fn stdout_is_pipe() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    stdout.and_then(|stdout| stdout.metadata()).is_ok_and(|stdout| stdout.file_type().is_fifo())
}

#[cfg(not(unix))]
fn stdout_is_pipe() -> bool {
    false
}
