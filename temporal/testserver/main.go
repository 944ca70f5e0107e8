// Command testserver is a Temporal server for tests: one process, its state in a SQLite file, so that it can be killed and started
// again. It is a module of its own, because a Temporal server needs 300 modules that neither pawl nor pawl-temporal needs.
//
// It prints nothing and serves until it is killed. A client that connects too early tries again.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"go.temporal.io/server/chasm/lib/activity"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

func main() {
	address := flag.String("address", "127.0.0.1:7233", "`host:port` to serve on")
	file := flag.String("file", "temporal.db", "SQLite `file` of the state; made if it does not exist")
	namespace := flag.String("namespace", "default", "`name` of the namespace to create")
	standalone := flag.Bool("standalone", true, "have standalone activities; a server before 1.31 has none")
	flag.Parse()
	if err := serve(*address, *file, *namespace, *standalone); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func serve(address, file, namespace string, standalone bool) error {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return err
	}
	ports, err := portsOf(file + ".ports")
	if err != nil {
		return err
	}
	settings := serverConfig(host, port, ports, file)
	if err := prepare(settings, file, namespace); err != nil {
		return err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(settings),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{activity.Enabled.Key(): standalone}),
		temporal.InterruptOn(temporal.InterruptCh()),
	)
	if err != nil {
		return err
	}
	return server.Start()
}

// portsOf returns the ports of the services, which a file keeps. A server that was killed and comes back with other ports counts as another
// member of its cluster, and waits a minute for the old one.
func portsOf(file string) (ports []int, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return ports, json.Unmarshal(data, &ports)
	}
	for range 7 {
		ports = append(ports, freeport.MustGetFreePort())
	}
	if data, err = json.Marshal(ports); err != nil {
		return nil, err
	}
	return ports, os.WriteFile(file, data, 0o600)
}

// prepare makes the tables of a new file, and the namespace.
func prepare(settings *config.Config, file, namespace string) error {
	store := settings.Persistence.DataStores[sqliteplugin.PluginName].SQL
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := sqlite.SetupSchema(store); err != nil {
			return err
		}
	}
	n, err := sqlite.NewNamespaceConfig(settings.ClusterMetadata.CurrentClusterName, namespace, false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(store, n)
}

// serverConfig is that of go.temporal.io/server/temporaltest, whose package for it is internal, with a file and a fixed port.
func serverConfig(host string, port int, ports []int, file string) *config.Config {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	store := config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      file,
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "2"},
	}
	service := func(port, membership int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: membership, BindOnIP: host}}
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
		},
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: &store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(port, ports[0]), "history": service(ports[1], ports[2]),
			"matching": service(ports[3], ports[4]), "worker": service(ports[5], ports[6]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		PublicClient: config.PublicClient{HostPort: address},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
}
