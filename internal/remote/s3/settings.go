package s3

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote/request"
)

// settings are what the environment and the files of the AWS CLI say about a profile.
type settings struct {
	getenv   func(string) string
	profile  string
	values   map[string]string // of the profile
	region   string
	endpoint string // "" for AWS itself
}

const maxFile = 1 << 20 // bytes of a file with settings or a token

var validRegion = lazyregexp.New(`^[a-z0-9-]{1,40}$`)

func readSettings(getenv func(string) string) (*settings, error) {
	s := &settings{getenv: getenv, profile: cmp.Or(getenv("AWS_PROFILE"), getenv("AWS_DEFAULT_PROFILE"), "default"), values: map[string]string{}}
	home := filepath.Join(getenv("HOME"), ".aws")
	section := "profile " + s.profile
	if s.profile == "default" {
		section = "default"
	}
	for _, f := range []struct{ path, section string }{
		{cmp.Or(getenv("AWS_CONFIG_FILE"), filepath.Join(home, "config")), section},
		{cmp.Or(getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, "credentials")), s.profile}, // wins
	} {
		data, err := disk.ReadFile(f.path, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("settings of S3: %w", err)
		}
		readSection(string(data), f.section, s.values)
	}
	s.region = cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), s.values["region"], "us-east-1")
	if !validRegion.MatchString(s.region) {
		return nil, fmt.Errorf("settings of S3: invalid region %q", s.region)
	}
	s.endpoint = cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), s.values["endpoint_url"])
	return s, nil
}

// readSection adds the values of a section of an INI file. Indented lines belong to nested settings, which pawl does not need.
func readSection(text, section string, values map[string]string) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			in = strings.Join(strings.Fields(name), " ") == section
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !in || !ok || strings.ContainsRune(" \t#;", rune(line[0])) {
			continue
		}
		values[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
}

// bucketURL returns the URL of a bucket, with a slash at its end. Other servers than AWS get the bucket in the path, which all of them
// understand.
func (s *settings) bucketURL(bucket string) (*url.URL, error) {
	if s.endpoint != "" {
		u, err := url.Parse(s.endpoint)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		if u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
			return nil, errors.New("it must be a URL of a server, such as https://storage.example.com")
		}
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+"/"+bucket+"/", ""
		return u, nil
	}
	host := "s3." + s.region + ".amazonaws.com"
	if strings.HasPrefix(s.region, "cn-") {
		host += ".cn"
	}
	if strings.Contains(bucket, ".") { // the certificate of AWS does not name it
		return &url.URL{Scheme: "https", Host: host, Path: "/" + bucket + "/"}, nil
	}
	return &url.URL{Scheme: "https", Host: bucket + "." + host, Path: "/"}, nil
}

// chain finds credentials in the order of the AWS CLI: variables, web identity, profile, container, machine.
func (s *settings) chain(client *request.Client) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		provider, err := s.provider(client)
		if err != nil {
			return aws.Credentials{}, err
		}
		ctx, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		return provider.Retrieve(ctx)
	})
}

func (s *settings) provider(client *request.Client) (aws.CredentialsProvider, error) {
	value := s.values
	switch {
	case s.getenv("AWS_ACCESS_KEY_ID") != "":
		return static(s.getenv("AWS_ACCESS_KEY_ID"), s.getenv("AWS_SECRET_ACCESS_KEY"), s.getenv("AWS_SESSION_TOKEN")), nil
	case s.getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return s.webIdentity(client, s.getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), s.getenv("AWS_ROLE_ARN")), nil
	case value["source_profile"]+value["credential_source"]+value["sso_session"]+value["sso_start_url"]+value["login_session"] != "":
		return nil, &pawl.Error{Kind: pawl.KindUsage,
			Err:  fmt.Errorf("profile %s of AWS needs a sign-in or another role, which the AWS CLI does: let it pass credentials to pawl", s.profile),
			Hint: "eval \"$(aws configure export-credentials --format env)\""}
	case value["aws_access_key_id"] != "":
		return static(value["aws_access_key_id"], value["aws_secret_access_key"], value["aws_session_token"]), nil
	case value["credential_process"] != "":
		return processcreds.NewProvider(value["credential_process"]), nil
	case value["web_identity_token_file"] != "":
		return s.webIdentity(client, value["web_identity_token_file"], value["role_arn"]), nil
	case s.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || s.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return s.container(client)
	case strings.EqualFold(s.getenv("AWS_EC2_METADATA_DISABLED"), "true"):
		return nil, errNoCredentials(nil)
	}
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		ctx, stop := context.WithTimeout(ctx, 4*time.Second)
		defer stop()
		machine := ec2rolecreds.New(func(o *ec2rolecreds.Options) {
			o.Client = imds.New(imds.Options{HTTPClient: direct(), Retryer: aws.NopRetryer{}})
		})
		found, err := machine.Retrieve(ctx)
		if err != nil {
			err = errNoCredentials(err)
		}
		return found, err
	}), nil
}

// direct returns a client for servers on this machine's own link, which no proxy may stand for.
func direct() *http.Client {
	return &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func errNoCredentials(cause error) error {
	text := "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	if cause == nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New(text)}
	}
	return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New(text + "; this machine has none either")}
}

func static(id, secret, token string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		if secret == "" {
			return aws.Credentials{}, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the access key for S3 has no secret: set AWS_SECRET_ACCESS_KEY")}
		}
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token, Source: "pawl"}, nil
	})
}

// containerHosts are the addresses at which containers of AWS get credentials without TLS.
var containerHosts = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// container gets the credentials of a container.
func (s *settings) container(client *request.Client) (aws.CredentialsProvider, error) {
	address := s.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := s.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		address = "http://169.254.170.2" + path
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("invalid AWS_CONTAINER_CREDENTIALS_FULL_URI")
	}
	known := false
	for _, host := range containerHosts {
		ip, err := netip.ParseAddr(u.Hostname())
		known = known || err == nil && ip == netip.MustParseAddr(host)
	}
	if err := client.Check(u); err != nil && !known {
		return nil, fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI: %w", err)
	}
	token := s.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if path := s.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
		data, err := disk.ReadFile(path, maxFile)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(data))
	}
	return endpointcreds.New(address, func(o *endpointcreds.Options) { o.HTTPClient, o.AuthorizationToken = direct(), token }), nil
}

// assumed is the answer to AssumeRoleWithWebIdentity.
type assumed struct {
	ID         string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>AccessKeyId"`
	Secret     string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SecretAccessKey"`
	Token      string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SessionToken"`
	Expiration time.Time `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
}

// webIdentity exchanges the token in a file for the credentials of a role. AWS's library for it adds 1.2 MB and 0.4 ms to each start.
func (s *settings) webIdentity(client *request.Client, file, role string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (got aws.Credentials, err error) {
		token, err := disk.ReadFile(file, maxFile)
		if err != nil {
			return got, err
		}
		endpoint, err := url.Parse(cmp.Or(s.getenv("AWS_ENDPOINT_URL_STS"), "https://sts."+s.region+".amazonaws.com/"))
		if err != nil {
			return got, errors.New("invalid AWS_ENDPOINT_URL_STS")
		}
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
			"RoleSessionName": {cmp.Or(s.getenv("AWS_ROLE_SESSION_NAME"), "pawl")}, "WebIdentityToken": {strings.TrimSpace(string(token))},
		}
		a, err := client.Do(ctx, request.Request{Method: http.MethodPost, URL: endpoint, Body: []byte(form.Encode()), Limit: maxFile,
			Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}})
		if err != nil {
			return got, err
		}
		if !a.OK() {
			return got, fmt.Errorf("get credentials by web identity: %w", &request.StatusError{Host: endpoint.Host, Status: a.Status})
		}
		var answer assumed
		if err := xml.Unmarshal(a.Body, &answer); err != nil || answer.ID == "" {
			return got, errors.New("get credentials by web identity: invalid answer")
		}
		return aws.Credentials{AccessKeyID: answer.ID, SecretAccessKey: answer.Secret, SessionToken: answer.Token, CanExpire: true, Expires: answer.Expiration, Source: "pawl"}, nil
	})
}
