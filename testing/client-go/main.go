// Informers of client-go, for a test: one for each address BASE/INDEX, of a kind without tenants. For each line of standard
// input the program prints what every informer holds: a JSON list of objects, from name to value.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	base := os.Args[1]
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	classes := schema.GroupVersionResource{Group: "berth.dev", Version: "v1", Resource: "priorityclasses"}
	stores := make([]cache.Store, count)
	for index := range stores {
		client, err := dynamic.NewForConfig(&rest.Config{Host: fmt.Sprintf("%s/%d", base, index), QPS: 1000, Burst: 1000})
		if err != nil {
			panic(err)
		}
		informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(classes).Informer()
		stores[index] = informer.GetStore()
		go informer.Run(make(chan struct{}))
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		held := make([]map[string]int64, count)
		for index, store := range stores {
			held[index] = map[string]int64{}
			for _, object := range store.List() {
				class := object.(*unstructured.Unstructured)
				value, _, _ := unstructured.NestedInt64(class.Object, "spec", "value")
				held[index][class.GetName()] = value
			}
		}
		line, err := json.Marshal(held)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
}
