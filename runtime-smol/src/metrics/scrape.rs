use super::encoder::{Families, named, with_bounds_of_go};
use super::{controllers, streams};
use crate::caught::caught_call;
#[cfg(feature = "endpoint")]
use crate::controller::Inspection;
use crate::controller::{ControllerHandle, Running};
#[cfg(all(feature = "endpoint", feature = "file"))]
use crate::informers::FlightRecorder;
#[cfg(feature = "endpoint")]
use crate::informers::StreamStatus;
use crate::informers::{Informers, WeakInformers};
use crate::mutex::Mutex;
use core::fmt;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use std::sync::Arc;

/// The controllers and informers that are measured. A clone measures the same ones.
///
/// ```
/// use listwatch::controller::ControllerHandle;
/// use listwatch::metrics::Metrics;
///
/// let (metrics, handle) = (Metrics::new(), ControllerHandle::default());
/// metrics.add_controller(&handle); // also before it has a controller
/// assert!(metrics.encode().ends_with("# EOF\n"));
/// ```
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Measured>>);

#[derive(Clone, Default)]
struct Measured {
    controllers: Vec<ControllerHandle>,
    informers: Vec<WeakInformers>,
    own: Vec<Arc<Encode>>,
}

/// What writes families of the program's own.
type Encode = dyn Fn(&mut String) -> fmt::Result + Send + Sync;

impl Metrics {
    /// Measures nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Measures this controller and its informers.
    pub fn add(&self, controller: &Running<'_>) {
        self.add_controller(&controller.handle());
        self.add_informers(controller.informers());
    }

    /// Measures the controller that the handle reaches, until it ends. A handle that is added again counts once.
    pub fn add_controller(&self, controller: &ControllerHandle) {
        let mut measured = self.0.lock();
        measured.controllers.retain(|known| !known.is_same(controller) && !known.is_gone());
        measured.controllers.push(controller.clone());
    }

    /// Measures the streams of these informers, without keeping them. Informers that are added again count once.
    pub fn add_informers(&self, informers: &Informers) {
        let mut measured = self.0.lock();
        measured.informers.retain(|known| !known.is_of(informers) && known.are_alive());
        measured.informers.push(WeakInformers::of(informers));
    }

    /// Adds families of the program's own to each scrape. `encode` writes them as text of OpenMetrics, as prometheus-client
    /// and other crates do. The names must differ from those of other families.
    ///
    /// ```
    /// use listwatch::metrics::Metrics;
    /// use prometheus_client::encoding::text::encode_registry;
    /// use prometheus_client::metrics::counter::Counter;
    /// use prometheus_client::registry::Registry;
    ///
    /// let (metrics, mut registry, rotations) = (Metrics::new(), Registry::default(), Counter::<u64>::default());
    /// registry.register("printer_rotations", "Passwords that were rotated", rotations.clone());
    /// metrics.add_families(move |text| encode_registry(text, &registry));
    ///
    /// rotations.inc(); // in a reconcile
    /// assert!(metrics.encode().contains("\nprinter_rotations_total 1\n"));
    /// ```
    ///
    /// If `encode` fails or panics, its families are not in that scrape. It is called by each [`encode`](Self::encode). An
    /// endpoint does so once a second at most, on a thread of its own. Exemplars are not for scrapers of the older format.
    pub fn add_families(&self, encode: impl Fn(&mut String) -> fmt::Result + Send + Sync + 'static) {
        self.0.lock().own.push(Arc::new(encode));
    }

    /// The text of OpenMetrics 1.0, for a response of type
    /// `application/openmetrics-text; version=1.0.0; charset=utf-8`.
    pub fn encode(&self) -> String {
        let (mut registry, mut encoded) = (Registry::default(), String::new());
        registry.register_collector(Box::new(self.clone()));
        text::encode_registry(&mut encoded, &registry).expect("a string takes all text");
        self.measured().own.iter().for_each(|own| add_text(&mut encoded, &**own));
        encoded.push_str(END);
        with_bounds_of_go(&encoded)
    }

    /// The controllers that live.
    #[cfg(feature = "endpoint")]
    pub(crate) fn inspections(&self) -> Vec<Inspection> {
        self.measured().controllers.iter().filter_map(ControllerHandle::inspection).collect()
    }

    /// The number of controllers that have not begun.
    #[cfg(feature = "endpoint")]
    pub(crate) fn awaited(&self) -> usize {
        self.measured().controllers.iter().filter(|it| it.is_awaited()).count()
    }

    /// The streams of the informers that are there.
    #[cfg(feature = "endpoint")]
    pub(crate) fn streams(&self) -> Vec<StreamStatus> {
        self.measured().informers.iter().flat_map(WeakInformers::status).collect()
    }

    /// The flight recorders of the informers that are there, each once.
    #[cfg(all(feature = "endpoint", feature = "file"))]
    pub(crate) fn flight_recorders(&self) -> Vec<Arc<FlightRecorder>> {
        let mut recorders: Vec<Arc<FlightRecorder>> = Vec::new();
        for recorder in self.measured().informers.iter().filter_map(WeakInformers::flight_recorder) {
            if !recorders.iter().any(|known| Arc::ptr_eq(known, &recorder)) {
                recorders.push(recorder);
            }
        }
        recorders
    }

    /// A copy, to be read outside of the lock: a reader may have the last share of a controller, and drop the objects of
    /// the program in it.
    fn measured(&self) -> Measured {
        self.0.lock().clone()
    }
}

/// The last line of a scrape.
const END: &str = "# EOF\n";

/// Adds the families that the program writes, unless it fails.
fn add_text(encoded: &mut String, own: &Encode) {
    let mut text = String::new();
    if let Ok(Ok(())) = caught_call(|| own(&mut text)) {
        let families = text.trim_end();
        let families = families.strip_suffix(END.trim_end()).unwrap_or(families).trim_end();
        encoded.extend([families, if families.is_empty() { "" } else { "\n" }]);
    }
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let measured = self.measured();
        let mut controllers: Vec<_> = measured.controllers.iter().filter_map(ControllerHandle::reading).collect();
        let mut asked: Vec<_> = measured.informers.iter().filter_map(WeakInformers::asked).collect();
        let streams: Vec<_> = measured.informers.iter().flat_map(WeakInformers::status).collect();
        asked.extend(controllers.iter_mut().filter_map(|it| it.asked.take()));
        let mut families = Families(encoder);
        controllers::encode(&mut families, &named(controllers, |it| it.name.to_string()))?;
        let streams = named(streams, |it| it.name.to_string());
        streams::encode(&mut families, &streams)?;
        streams::encode_requests(&mut families, asked.into_iter())
    }
}

listwatch_core::summary!("Metrics" for Metrics);
