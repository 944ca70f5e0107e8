package redacttest

// secretTemplates are texts with secrets, one a line. <alnum36> is a random part of 36 letters and digits, ⏎ a line end, and ·
// is nothing: it separates what scanners look for.
const secretTemplates = `
# services, in prose
the deploy failed: gh·p_<alnum36> has no access to the registry
I used github_·pat_11<alnum20>_<alnum59> for the clone
remote: HTTP Basic: Access denied, token gl·pat-<alnum20>
the runner registered with gl·rt-<alnum20>.
CI uses gl·dt-<alnum20>, which expires soon
trigger token: gl·ptt-<hex40>
the agent's token is gl·agent-<alnum50>
please rotate xox·b-<digit11>-<digit12>-<alnum24>
our bot: xapp·-1-A<upper10>-<digit13>-<hex64>
posted to https://hooks.slack·.com/services/T<upper8>/B<upper8>/<alnum24>
key AKI·A<cap16> was found in the log
the session ASI·A<cap16> is still valid
Anthropic key sk·-ant-api03-<alnum93>AA in use
openai: sk·-proj-<alnum48>T3Blbk·FJ<alnum48>
deepseek says sk·-<hex32> is invalid
router key sk·-or-v1-<hex64>
groq key gs·k_<alnum52>
xai key xa·i-<alnum80>
perplexity: ppl·x-<alnum48>
replicate r8·_<alnum37>
huggingface hf·_<alpha34> was used
langsmith lsv2·_pt_<hex32>_<hex10>
pinecone pcs·k_<alnum6>_<alnum60>
stripe sk_·live_<alnum24> charged the card
restricted rk_·live_<alnum24> failed
webhook secret whs·ec_<alnum32>
npm publish with npm·_<alnum36>
pypi: pypi·-AgEIcHlwaS5vcmc<url70>
rubygems_<hex48> pushed the gem
docker login with dckr·_pat_<url27>
doc: dop·_v1_<hex64>
oauth doo·_v1_<hex64>
shopify shp·at_<hex32> may read orders
app secret shp·ss_<hex32>
vault root token hv·s.<url95>
batch token hv·b.<url150>
old vault token s.<alnum24> works
databricks dap·i<hex32> runs the job
grafana gls·a_<alnum32>_<hex8> queries
cloud token gl·c_<alnum60>
linear lin_·api_<alnum40> is mine
linear oauth lin_·oauth_<hex64>
doppler dp.·pt.<alnum43> reads the config
service token dp.·st.prd.<alnum43>
dynatrace dt0c·01.<upper24>.<upper64>
sendgrid SG·.<url22>.<url43> sends mail
mailgun key·-<hex32> for the domain
mailchimp <hex32>-us14 is the API key of mailchimp
brevo xkey·sib-<hex64>-<alnum16>
postman PMA·K-<hex24>-<hex34>
planetscale pscale·_tkn_<url43>
password pscale·_pw_<url43>
pulumi pul·-<hex40> for the stack
terraform <alnum14>.atlas·v1.<url67>
notion secret·_<alnum43> reads pages
notion ntn·_<digit11><alnum35>
figma fig·d_<url40>
airtable pat<alnum14>.<hex64>
asana 1/<digit16>:<hex32> is a personal token
atlassian ATAT·T3xFfGF0<url180>=<HEX8>
bitbucket ATBB<alnum32> is an app password
sentry sntr·yu_<hex64>
new relic NRA·K-<upper27>
tailscale ts·key-auth-k<alnum10>CNTRL-<alnum32>
supabase sb·p_<hex40>
sourcegraph sg·p_<hex16>_<hex40>
circleci CCIPAT·_<alnum22>_<hex40>
buildkite bk·ua_<hex40>
sonar sq·u_<hex40>
telegram bot <digit10>:AA<url33>
discord bot MT<alnum24>.G<alnum5>.<url38>
https://discord·.com/api/webhooks/<digit18>/<url68>
twilio SK<hex32> signs
azure <alnum3>8Q~<url34> is the client secret
google AIz·a<url35> in the page
oauth GOC·SPX-<url28>
google ya29·.<url60>7
square sq0·atp-<url22>
square EAAA<url60>
facebook EAAC<alnum120>
netlify nfp·_<alnum40>
openshift sha256~<url43>
easypost EZA·K<alnum54>
fly fo1·_<url43>
prefect pn·u_<alnum36>
readme rd·me_<lower70>
1password A3-<upper6>-<upper11>-<upper5>-<upper5>-<upper5>
age AGE-SECRET-·KEY-1<bech58>
heroku HRK·U-AA<url58>
jwt eyJ<alnum30>.eyJ<alnum60>.<url43> in the cookie
# assignments
export DB_PASSWORD=<word>
PGPASSWORD=<pass12> psql -h db
MYSQL_PWD=<word> mysql -u root
SECRET_KEY=<alnum40>
DJANGO_SECRET_KEY='<pass50>'
AWS_SECRET_ACCESS_KEY=<enc40>
aws_session_token = <enc200>
AZURE_CLIENT_SECRET=<alnum40>
DATADOG_API_KEY=<hex32>
DD_APP_KEY=<hex40>
TWILIO_AUTH_TOKEN=<hex32>
CLOUDFLARE_API_TOKEN="<url40>"
SLACK_SIGNING_SECRET=<hex32>
SENTRY_AUTH_TOKEN=<hex64>
APP_KEY=base64:<enc43>=
JWT_SECRET=<alnum32>
ENCRYPTION_KEY=<hex64>
FASTLY_API_TOKEN=<url32>
HEROKU_API_KEY=<uuid>
SNYK_TOKEN=<uuid>
CODECOV_TOKEN=<uuid>
ALGOLIA_ADMIN_KEY=<hex32>
ALGOLIA_API_KEY = "<hex32>"
MAPBOX_TOKEN=sk.<alnum60>.<alnum22>
NPM_AUTH_TOKEN=<uuid>
OKTA_API_TOKEN=00<url40>
password: <pass14>
  password: "<pass10>"
db_password = "<word>"
"client_secret": "<url40>"
{"access_token":"<alnum40>","expires_in":3600}
{"refresh_token":"<url64>"}
{"private_key_id":"x","api_key":"<alnum32>"}
api_key: <alnum32>
apiKey: '<alnum32>'
secret_key_base: <hex128>
token = "<hex40>"
auth_token: <alnum32>
authToken=<url43>
config.password = '<pass12>'
const password = "<pass12>";
let apiToken = '<alnum40>';
password => '<pass12>',
define('AUTH_KEY', '<pass60>');
define( "DB_PASSWORD", "<pass14>" );
spring.datasource.password=<pass12>
ConnectionStrings__Default="Server=db;User Id=sa;Password=<pass12>;"
Server=db;Uid=app;Pwd=<pass12>;
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=<enc86>==;EndpointSuffix=core.windows.net
Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=<enc43>=
https://x.blob.core.windows.net/c/f?sv=2024-01-01&se=2027&sig=<alnum40>%3D
//registry.npmjs.org/:_authToken=<uuid>
//registry.npmjs.org/:_password=<enc24>
machine github.com login me password <alnum20>
db.example.com:5432:app:app:<pass16>
set password for user app: "<pass12>"
my password is <pass12>
the password for the database is <pass14>
the API key is <alnum32>
token is <hex40>
user admin with password <pass12>
# commands
curl -u admin:<pass12> https://example.com
curl -s -u "admin:<pass12>" https://example.com/api
curl --user deploy:<word> -X POST https://example.com
curl -udeploy:<pass12> https://example.com
curl -H "Authorization: Bearer <alnum40>" https://example.com
curl -H 'X-Api-Key: <alnum32>' https://example.com
curl -H "PRIVATE-TOKEN: <alnum20>" https://gitlab.example.com
curl -H "X-Vault-Token: <alnum26>" https://vault.example.com
curl -d "username=me&password=<pass12>" https://example.com/login
curl "https://example.com/api?access_token=<alnum40>"
curl "https://example.com/v1?api_key=<alnum32>&q=x"
wget --http-user=me --http-password=<pass12> https://example.com
mysql -u root -p<pass12> app
mysqldump -uroot -p<word> app > dump.sql
docker login -u me -p <pass16> registry.example.com
echo <pass16> | docker login -u me --password-stdin
sshpass -p <pass12> ssh root@example.com
sshpass -p '<pass12>' scp a b:
redis-cli -a <pass16> ping
redis-cli -h cache -a <alnum24> keys '*'
openssl enc -aes-256-cbc -pass pass:<pass12> -in a
openssl pkcs12 -passin pass:<word> -in a.p12
git clone https://<alnum40>@github.com/x/y.git
git clone https://oauth2:<alnum20>@gitlab.com/x/y.git
git remote set-url origin https://me:<pass16>@example.com/x.git
psql postgres://app:<pass12>@db.example.com/app
mongodb+srv://app:<pass16>@cluster0.example.net/app
DATABASE_URL=mysql://root:<word>@localhost:3306/app
amqp://guest:<pass12>@rabbit:5672/
redis://default:<alnum32>@cache:6379/0
smtp://mailer%40example.com:<alnum16>@smtp.example.com:587
ftp://me:<pass12>@example.com/x
tool --password <pass12> --verbose
tool --api-key <alnum32>
tool --token=<hex40> run
tool --client-secret "<url40>"
gh auth login --with-token <<< <hex40>
kubectl create secret generic x --from-literal=password=<pass12>
kubectl config set-credentials me --token=<alnum40>
helm install x --set db.password=<pass12>
az login --service-principal -u x -p <alnum34> --tenant y
aws configure set aws_secret_access_key <enc40>
vault login <alnum24>7
heroku config:set API_SECRET=<alnum32>
htpasswd -b .htpasswd admin <pass12>
net use \\server\share /user:me <pass12>
ansible-playbook x.yml -e "db_password=<pass12>"
# headers, files
Authorization: Basic {base64:admin:<pass12>}
authorization: Bearer <url60>
Proxy-Authorization: Basic {base64:me:<pass12>}
Authorization: token <hex40>
Authorization: ApiKey {base64:id:<alnum22>}
X-API-Key: <alnum40>
X-Auth-Token: <hex32>
Cookie: sessionid=<lower32>; theme=dark
Set-Cookie: session=<url43>; HttpOnly
Cookie: _gitlab_session=<lower32>
{"auths":{"https://index.docker.io/v1/":{"auth":"{base64:me:<pass16>}"}}}
"auth": "{base64:me:<pass16>}"
kind: Secret⏎metadata:⏎  name: db⏎data:⏎  password: {base64:<pass16>}
kind: Secret⏎data:⏎  db-url: {base64:postgres://app:<pass16>@db/app}
    client-key-data: LS0t<enc120>=
{"type":"service_account","private_key":"-----BEGIN PRI·VATE KEY-----\n<enc64>\n<enc64>\n-----END PRI·VATE KEY-----\n"}
-----BEGIN RSA PRI·VATE KEY-----⏎<enc64>⏎<enc64>⏎-----END RSA PRI·VATE KEY-----
-----BEGIN OPENSSH PRI·VATE KEY-----⏎<enc70>⏎<enc70>⏎-----END OPENSSH PRI·VATE KEY-----
-----BEGIN EC PRI·VATE KEY-----⏎<enc64>⏎<enc64>==⏎-----END EC PRI·VATE KEY-----
<add key="Password" value="<pass12>" />
<password><pass12></password>
<apiKey><alnum32></apiKey>
`
