// Kubernetes' sample controller with controller-runtime: a Foo owns a Deployment. tests/peers/lines counts its lines.
//
// +kubebuilder:object:generate=true
package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Foo names a Deployment.
//
// +kubebuilder:object:root=true
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec   `json:"spec"`
	Status            FooStatus `json:"status,omitempty"`
}

// FooSpec is the wanted state.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int32  `json:"replicas"`
}

// FooStatus is the observed state.
type FooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas"`
}

// FooList is what a server answers to a list.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

var errNotManaged = errors.New("the Deployment is not managed by this Foo")

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	foo := &Foo{}
	if err := r.Get(ctx, request.NamespacedName, foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}}
	_, err := controllerutil.CreateOrPatch(ctx, r.Client, deployment, func() error {
		if deployment.UID == "" {
			deployment.Spec = specOf(foo)
		} else if !metav1.IsControlledBy(deployment, foo) {
			return errNotManaged
		}
		deployment.Spec.Replicas = &foo.Spec.Replicas
		return controllerutil.SetControllerReference(foo, deployment, r.Scheme())
	})
	if errors.Is(err, errNotManaged) {
		r.recorder.Eventf(foo, nil, corev1.EventTypeWarning, "ErrResourceExists", "Sync", err.Error())
	}
	if err != nil || foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return ctrl.Result{}, err
	}
	foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	return ctrl.Result{}, r.Status().Update(ctx, foo)
}

func specOf(foo *Foo) appsv1.DeploymentSpec {
	app := map[string]string{"app": foo.Name}
	return appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: app},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: app},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
		},
	}
}

func run() error {
	version := schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	scheme.Scheme.AddKnownTypes(version, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme.Scheme, version)
	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	readYourWrites := client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
	manager, err := ctrl.NewManager(config, ctrl.Options{Client: readYourWrites})
	if err != nil {
		return err
	}
	foos := &reconciler{manager.GetClient(), manager.GetEventRecorder("sample-controller")}
	if err := ctrl.NewControllerManagedBy(manager).For(&Foo{}).Owns(&appsv1.Deployment{}).Complete(foos); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
