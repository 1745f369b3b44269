use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use std::error::Error;
use tracing_subscriber::layer::SubscriberExt as _;

/// Sends spans to a collector, such as `http://localhost:4318`, until the program shuts the provider down.
pub fn send_spans(collector: &str) -> Result<SdkTracerProvider, Box<dyn Error>> {
    let exporter = SpanExporter::builder().with_http().with_endpoint(format!("{collector}/v1/traces")).build()?;
    let resource = Resource::builder().with_service_name("printer").build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("listwatch"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    Ok(provider)
}
