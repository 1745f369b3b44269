//! An informer's cache on its way to a file, and back.

use super::file::{SaveProblem, SaveProblemKind, SavedFile};
use super::save_to::SaveTo;
use crate::caught::caught_call;
use crate::clock::{Clock, Outside, Sleep};
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch_core::cache::Cache;
use listwatch_core::decode::{Decode, Form, FromJson, Json, ToJson};
use listwatch_core::informer::{InformerIn, SavedAge};
use listwatch_core::object::ObjectHandle;
use listwatch_core::reflector::Phase;
use listwatch_core::saved::{Origin, Saved, SavedError, Saver, Writing};
use listwatch_core::storage::Heap;
use smol::Task;
use std::env;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::sync::OnceLock;

/// Saves the cache of an informer, and restores it.
pub(crate) trait Saving<D: Decode, C: Cache<D::Object>>: Send {
    /// Restores the cache, before the start.
    fn begin(&mut self, informer: &mut InformerIn<D, C, Heap>, clock: &Clock);

    /// Goes on, as far as nothing is waited for. The task of `cx` is woken for the rest.
    fn poll(&mut self, informer: &mut InformerIn<D, C, Heap>, clock: &Clock, cx: &mut Context<'_>);

    /// Saves what is not saved, and waits for it.
    fn end(&mut self, informer: &InformerIn<D, C, Heap>, clock: &Clock);
}

/// The saving of an informer of `T`.
pub(crate) fn saving<T, C>(save: SaveTo) -> Box<dyn Saving<Json<T>, C>>
where
    T: FromJson + ToJson + Send + Sync + 'static,
    C: Cache<ObjectHandle<T>>,
{
    let saver = Saver::new(save.every);
    let file = SavedFile::new(&save.path);
    Box::new(ToFile {
        save,
        saver,
        origin: None,
        goes_on: false,
        identity: Identity::Unknown { saved: None },
        file: Some(file),
        writing: None,
        sleep: None,
    })
}

/// The saving to a file.
struct ToFile {
    save: SaveTo,
    saver: Saver,
    /// `None` if nothing may be saved.
    origin: Option<Origin>,
    /// A watch is to go on from the restored state.
    goes_on: bool,
    identity: Identity,
    /// Unless it is being written.
    file: Option<SavedFile>,
    writing: Option<Written>,
    sleep: Option<Sleep>,
}

/// The write of a state, on another thread. Simulated time waits for it.
struct Written {
    task: Task<(SavedFile, Outcome)>,
    _outside: Outside,
}

/// What became of a save; `None` if another one has the file.
type Outcome = Option<Result<(), SavedError>>;

/// What is known of the cluster's identity.
enum Identity {
    Unknown {
        /// That of the restored state.
        saved: Option<String>,
    },
    Asked {
        saved: Option<String>,
        answer: Pin<Box<dyn Future<Output = Option<String>> + Send>>,
    },
    /// The answer has come, whatever it is.
    Known,
}

impl ToFile {
    /// The callback is the program's. Its panic has been printed, and the cache is saved nevertheless.
    fn tell(&self, kind: SaveProblemKind, error: SavedError) {
        let problem = SaveProblem { kind, path: self.save.path.clone(), error };
        let _ = caught_call(|| (self.save.on_problem)(&problem));
    }

    fn in_use(&self, error: &io::Error) {
        self.tell(SaveProblemKind::InUse, SavedError::Flash(error.to_string()));
    }

    /// Saves nothing. Secrets that an earlier run saved are not left in silence.
    fn refuse(&mut self, error: SavedError) {
        // Its drop releases the lock, for a cache that may be saved there.
        let file = self.file.take_if(|file| matches!(error, SavedError::Confidential(_)) && file.is_there());
        let locked = file.map(|mut file| file.lock().map(|()| file.is_there()));
        match locked {
            Some(Err(busy)) => self.in_use(&busy),
            Some(Ok(true)) => self.tell(SaveProblemKind::SecretsLeft, error),
            Some(Ok(false)) | None => self.tell(SaveProblemKind::NotSaved, error),
        }
    }

    /// What the cache of the informer is of.
    fn origin_of<T: FromJson + ToJson, C: Cache<ObjectHandle<T>>>(
        &self,
        informer: &InformerIn<Json<T>, C, Heap>,
    ) -> Result<Origin, SavedError> {
        if self.save.server.is_empty() {
            return Err(SavedError::Unnamed);
        }
        let build = match T::form() {
            Form::Fields(_) => {
                build().ok_or_else(|| SavedError::Flash("the program's own file cannot be read".into()))?
            }
            _ => "",
        };
        let (resource, options) = (informer.resource(), informer.decode_options());
        let origin = if self.save.include_secrets {
            Origin::including_secrets::<T>(resource, options, build)
        } else {
            Origin::new::<T>(resource, options, build)?
        };
        Ok(origin.server(&self.save.server).authority(&self.save.authority))
    }

    /// Asks for the identity of the cluster once the server can be reached, and compares it.
    fn identify<D: Decode, C: Cache<D::Object>>(
        &mut self,
        informer: &mut InformerIn<D, C, Heap>,
        clock: &Clock,
        cx: &mut Context<'_>,
    ) {
        let is_reached = informer.is_held() || informer.phase() == Phase::Watching;
        if let Identity::Unknown { saved } = &mut self.identity
            && is_reached
        {
            let (saved, client) = (saved.take(), self.save.client.clone());
            self.identity = Identity::Asked { saved, answer: Box::pin(async move { client?.cluster_uid().await }) };
        }
        let Identity::Asked { saved, answer } = &mut self.identity else { return };
        let Poll::Ready(uid) = answer.as_mut().poll(cx) else { return };
        // A state of a cluster that cannot be identified may be another cluster's.
        let other = saved.take().filter(|saved| uid.as_ref() != Some(saved));
        let here = uid.clone().unwrap_or_else(|| "unknown".to_owned());
        self.identity = Identity::Known;
        self.origin = self.origin.take().map(|origin| uid.iter().fold(origin, |origin, uid| origin.cluster(uid)));
        informer.confirm(clock.now(), other.is_none());
        // The informer may go on.
        cx.waker().wake_by_ref();
        if let Some(saved) = other {
            self.tell(SaveProblemKind::NotRestored, SavedError::Other { what: "cluster", saved, here });
        }
    }

    /// Whether it is known of which cluster the state is, or cannot be known.
    fn is_identified(&self) -> bool {
        self.save.client.is_none() || matches!(self.identity, Identity::Known)
    }

    /// Whether the file is there to be written, and nobody else writes it.
    fn has_lock(&mut self) -> bool {
        self.file.as_mut().is_some_and(|file| file.lock_patiently().is_ok())
    }

    /// Begins to write the state. If another one has the file, which was told at the start, it is tried again later.
    fn write<T, C>(&mut self, informer: &InformerIn<Json<T>, C, Heap>, clock: &Clock)
    where
        T: FromJson + ToJson + Send + Sync + 'static,
        C: Cache<ObjectHandle<T>>,
    {
        let Some(writing) = self.state(informer, clock) else { return };
        let Some(mut file) = self.file.take() else { return };
        let outside = clock.outside();
        let task = smol::unblock(move || {
            if file.lock_patiently().is_err() {
                return (file, None);
            }
            let written = caught_call(|| writing.write_to(&mut file));
            let written = written.unwrap_or_else(|panic| Err(SavedError::Object(format!("panicked: {panic}"))));
            (file, Some(written))
        });
        self.writing = Some(Written { task, _outside: outside });
    }

    /// Notes the end of the write, if it has ended.
    fn finish(&mut self, cx: &mut Context<'_>) {
        let Some(Written { task, .. }) = &mut self.writing else { return };
        if let Poll::Ready((file, outcome)) = Pin::new(task).poll(cx) {
            self.writing = None;
            self.note(file, outcome);
        }
    }

    fn note(&mut self, mut file: SavedFile, outcome: Outcome) {
        self.saver.handle_saved(matches!(outcome, Some(Ok(()))));
        if let Some(Err(error)) = outcome {
            file.discard();
            self.tell(SaveProblemKind::NotSaved, error);
        }
        self.file = Some(file);
    }

    /// The state of the cache, which has exactly this version.
    fn state<T: ToJson + FromJson, C: Cache<ObjectHandle<T>>>(
        &self,
        informer: &InformerIn<Json<T>, C, Heap>,
        clock: &Clock,
    ) -> Option<Writing<T>> {
        let (origin, version) = (self.origin.as_ref()?, informer.saveable_version()?);
        let objects = informer.cache().read(|cache| cache.iter().cloned().collect());
        Some(Writing::new(origin, version, clock.wall(), objects).partial(informer.has_undecodable()))
    }
}

impl<T, C> Saving<Json<T>, C> for ToFile
where
    T: FromJson + ToJson + Send + Sync + 'static,
    C: Cache<ObjectHandle<T>>,
{
    fn begin(&mut self, informer: &mut InformerIn<Json<T>, C, Heap>, clock: &Clock) {
        let origin = match self.origin_of(informer) {
            Ok(origin) => origin,
            Err(error) => return self.refuse(error),
        };
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.lock_patiently() {
            self.origin = Some(origin);
            return self.in_use(&error);
        }
        let (options, most) = (informer.decode_options(), informer.max_list_bytes());
        let read = caught_call(|| Saved::<T>::read(file, &origin, options, most));
        let read = read.unwrap_or_else(|panic| Err(SavedError::Object(format!("panicked: {panic}"))));
        self.origin = Some(origin);
        match read {
            Err(error) => self.tell(SaveProblemKind::NotRestored, error),
            Ok(None) => {}
            Ok(Some(Saved { objects, version, date, cluster, is_partial })) => {
                let age = SavedAge::between(date, clock.wall());
                let cluster = cluster.filter(|_| self.save.client.is_some());
                if informer.restore(clock.now(), objects, &version, age, cluster.is_some()) {
                    self.saver.handle_restored(clock.now(), &version);
                    self.goes_on = !is_partial;
                    if is_partial {
                        informer.relist_restored();
                    }
                    self.identity = Identity::Unknown { saved: cluster };
                } else {
                    self.tell(
                        SaveProblemKind::NotRestored,
                        SavedError::Unknown(format!("its version {version:?} is no number")),
                    );
                }
            }
        }
    }

    fn poll(&mut self, informer: &mut InformerIn<Json<T>, C, Heap>, clock: &Clock, cx: &mut Context<'_>) {
        if self.origin.is_none() {
            return;
        }
        self.identify(informer, clock, cx);
        self.finish(cx);
        if !informer.is_restored() && core::mem::take(&mut self.goes_on) {
            self.saver.handle_outdated();
        }
        if !self.is_identified() {
            return;
        }
        loop {
            if self.saver.poll_save(clock.now(), informer.saveable_version()) {
                self.write(informer, clock);
                self.finish(cx);
            }
            if clock.poll_at(&mut self.sleep, self.saver.poll_timeout(), cx).is_pending() {
                return;
            }
        }
    }

    fn end(&mut self, informer: &InformerIn<Json<T>, C, Heap>, clock: &Clock) {
        if let Some(Written { task, .. }) = self.writing.take() {
            let (file, outcome) = smol::block_on(task);
            self.note(file, outcome);
        }
        let is_unsaved = informer.saveable_version().is_some_and(|version| self.saver.is_unsaved(version));
        // Where there is nothing to save, no lock is made.
        if let Some(writing) = self.state(informer, clock).filter(|_| is_unsaved)
            && self.has_lock()
            && let Some(file) = &mut self.file
            && let Err(error) = writing.write_to(file)
        {
            self.tell(SaveProblemKind::NotSaved, error);
        }
    }
}

/// A hash of the program's file; `None` if that cannot be read. It is read once.
fn build() -> Option<&'static str> {
    static BUILD: OnceLock<Option<String>> = OnceLock::new();
    BUILD.get_or_init(|| hash().ok().map(|hash| format!("{hash:016x}"))).as_deref()
}

fn hash() -> io::Result<u64> {
    let (mut file, mut buffer, mut hasher) =
        (File::open(env::current_exe()?)?, vec![0; 64 << 10], DefaultHasher::new());
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            len => hasher.write(&buffer[..len]),
        }
    }
}
