package s3

import (
	"bufio"
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options say where a bucket is and who asks. The zero value takes all of it
// from the environment, as the tools of AWS do.
type Options struct {
	// Endpoint is the URL of the server. "": $AWS_ENDPOINT_URL_S3,
	// $AWS_ENDPOINT_URL, endpoint_url of the profile, or AWS itself.
	Endpoint string
	// Region is what requests are signed for. "": $AWS_REGION,
	// $AWS_DEFAULT_REGION, region of the profile; then AWS is asked where the
	// bucket is, and other servers are taken to be in us-east-1.
	Region string
	// Profile of the files of AWS, whose credentials then go before those of
	// variables. "": $AWS_PROFILE, or "default".
	Profile string
	// AccessKey, SecretKey and SessionToken are credentials. "": those of
	// $AWS_ACCESS_KEY_ID and its kin, of the profile (~/.aws/credentials,
	// ~/.aws/config or where $AWS_SHARED_CREDENTIALS_FILE and
	// $AWS_CONFIG_FILE lead), of a web identity or a container if the
	// environment names one; without any, requests are not signed.
	AccessKey, SecretKey, SessionToken string
	// Anonymous signs nothing, whatever there is. $AWS_NO_SIGN_REQUEST=true
	// does the same.
	Anonymous bool
	// VirtualHost puts the bucket into the host's name, which is otherwise
	// done for AWS alone. $AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true does the same.
	VirtualHost bool
	// HTTP are the options of reads. A Header is sent with reads only.
	HTTP storage.HTTPOptions
}

// config is where a bucket is.
type config struct {
	endpoint *url.URL // without a path
	region   string   // "": to be asked for
	aws      bool     // the endpoint is AWS's own
	virtual  bool
	creds    *credentials.Credentials
}

func (o Options) config() (config, error) {
	profile := cmp.Or(o.Profile, os.Getenv("AWS_PROFILE"), "default")
	file := readProfile(profile)
	c := config{
		region: cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), file["region"]),
	}
	var err error
	endpoint := cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), file["s3.endpoint_url"], file["endpoint_url"])
	if endpoint == "" {
		c.aws, c.endpoint = true, &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
		if c.region != "" {
			if c.endpoint, err = awsEndpoint(c.region); err != nil {
				return c, err
			}
		}
	} else if c.endpoint, err = serverAt(endpoint); err != nil {
		return c, err
	}
	if c.region == "" && !c.aws {
		c.region = "us-east-1"
	}
	c.virtual = c.aws || o.VirtualHost || isTrue("AWS_VIRTUAL_HOSTED_STYLE_REQUEST")
	c.creds = o.credentials(profile)
	return c, nil
}

// serverAt is the URL of a server.
func serverAt(endpoint string) (*url.URL, error) {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fault.New(fault.ErrInvalid, "s3", "", "the endpoint is not the URL of a server")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fault.New(fault.ErrInvalid, "s3", "", "the endpoint is neither http nor https")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// awsEndpoint is where AWS serves a region. Who names one does not get to
// choose another server.
func awsEndpoint(region string) (*url.URL, error) {
	if strings.ContainsFunc(region, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) {
		return nil, fault.New(fault.ErrInvalid, "s3", strconv.Quote(region), "is no region")
	}
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

func (o Options) credentials(profile string) *credentials.Credentials {
	switch {
	case o.Anonymous || isTrue("AWS_NO_SIGN_REQUEST"):
		return credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	case o.AccessKey != "":
		return credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{Profile: profile}}
	if o.Profile != "" {
		chain = chain[1:]
	}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" { // else a server would be looked for that most machines do not have
			chain = append(chain, &credentials.IAM{})
			break
		}
	}
	return credentials.NewChainCredentials(chain)
}

func isTrue(variable string) bool {
	switch strings.ToLower(os.Getenv(variable)) {
	case "true", "yes", "1":
		return true
	}
	return false
}

// readProfile returns the settings of a profile in the config file of AWS,
// nested ones as "s3.endpoint_url"; none if there is no such file.
func readProfile(profile string) map[string]string {
	name := os.Getenv("AWS_CONFIG_FILE")
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		name = filepath.Join(home, ".aws", "config")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	settings, within, group := map[string]string{}, false, ""
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // one longer than that ends it
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		nested := line != "" && line[0] != lines.Text()[0] // a setting of one service
		if section, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSpace(strings.TrimSuffix(section, "]"))
			within = strings.TrimSpace(strings.TrimPrefix(section, "profile ")) == profile
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !within || line[0] == '#' || line[0] == ';' {
			continue
		}
		if key = strings.TrimSpace(key); nested {
			key = group + "." + key
		} else {
			group = key
		}
		settings[key] = strings.TrimSpace(value)
	}
	return settings
}
