package redacttest

// harmlessTemplates are texts without secrets, one a line, as in secretTemplates.
const harmlessTemplates = `
# hashes and identifiers
commit <hex40>
HEAD is now at <hex7> fix the parser
git checkout <hex40>
index <hex7>..<hex7> 100644
Merge: <hex7> <hex7>
tree <hex40>
parent <hex40>
sha256:<hex64>
<hex64>  dist/app.tar.gz
MD5 (x.iso) = <hex32>
sha1: <hex40>
ETag: "<hex32>"
etag: W/"<alnum27>"
id: <uuid>
request id <uuid>
X-Request-Id: <uuid>
traceparent: 00-<hex32>-<hex16>-01
trace_id=<hex32> span_id=<hex16>
{"id":"<uuid>","status":"ok"}
container <hex64> started
image: registry.example.com/app@sha256:<hex64>
FROM golang:1.26@sha256:<hex64>
build id <hex40>
uses: actions/checkout@<hex40>
uses: cloudflare/wrangler-action@<hex40> # v3
sentry_release = <hex40>
dropbox commit <hex40>
0x<hex40>
0x<hex64>
fingerprint SHA256:<enc43>
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<enc43> me@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ<enc300> me@host
-----BEGIN CERTIFICATE-----⏎<enc64>⏎<enc64>⏎-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----⏎<enc64>⏎-----END PUBLIC KEY-----
serial number <HEX32>
# lock files
golang.org/x/sys v0.49.0 h1:<enc43>=
golang.org/x/sys v0.49.0/go.mod h1:<enc43>=
"integrity": "sha512-<enc86>==",
"resolved": "https://registry.npmjs.org/x/-/x-1.2.3.tgz#<hex40>"
  resolution: {integrity: sha512-<enc86>==}
checksum = "<hex64>"
hash = "sha256:<hex64>"
    --hash=sha256:<hex64> \
"sha256": "<hex64>",
sha256-<enc43>=
{"name":"tokenizer","version":"1.2.3","integrity":"sha512-<enc86>=="}
[[package]]⏎name = "secret-service"⏎checksum = "<hex64>"
dropbox-sdk==11.36.2 --hash=sha256:<hex64>
sentry-sdk 2.1.0 sha256 <hex64>
yarn: "twilio@npm:^4": checksum: 10/<hex128>
# of pawl
token <hex16>
"token":"<hex16>"
"token": "<hex16>", "attempt": 2
PAWL_TOKEN=<hex16>
run convert-20261122-142233-<hex4>
gate <hex8> approved
checkpoint <hex8> saved
{"seq":12,"type":"attempt.started","data":{"step":"build","attempt":1,"token":"<hex16>","key":{"definition":"<hex64>"}}}
pawl resume convert-20261122-142233-<hex4>
.pawl/runs/convert-20261122-142233-<hex4>/steps/build/1/out.log
definition <hex64> changed
# tokens that are no credentials
csrf_token=<alnum32>
"csrfToken": "<alnum32>"
X-CSRF-Token: <alnum64>
<input name="authenticity_token" value="<alnum64>">
nextPageToken: "<url40>"
"next_page_token": "<url60>",
continuation_token=<url44>
{"NextToken":"<enc60>=="}
pageToken=<alnum30>
sync_token: <url24>
"cursor": "<url44>"
idempotency_key=<uuid>
idempotency-key: <uuid>
cache_key: <hex40>
primary_key = <digit12>
partition_key: user-<digit10>
sort_key=<digit13>
foreign key <alnum12>
public_key: <enc43>=
object key: builds/<hex40>/app.zip
s3://bucket/<hex40>/file.bin
key=<digit10>
tokens: 1523, max_tokens=4096
input_tokens=15230 output_tokens=822
total_tokens: 99281
# paths of secrets
password_file=/run/secrets/db_password
DB_PASSWORD_FILE=/run/secrets/db-7
password: /etc/app/secrets/db1.txt
secret: secret/data/prod/db2
vault kv get secret/data/app2
token: ./tokens/ci-2.txt
TOKEN=~/.config/app/token2
api_key: op://vault1/item2/password
client_secret: arn:aws:secretsmanager:eu-west-1:<digit12>:secret:db-<alnum6>
secretKeyRef: {name: db-credentials-2, key: password}
secretName: tls-2026-prod
GOOGLE_APPLICATION_CREDENTIALS=/home/me/key-2.json
ssh -i ~/.ssh/id_ed25519 host
password: ${DB_PASSWORD}
password: {{ .Values.db.password }}
password=$(cat /run/secrets/db)
token: ${{ secrets.GITHUB_TOKEN }}
api_key: !vault |
Authorization: Bearer $TOKEN
Authorization: Bearer ${API_TOKEN}
curl -u "$USER:$PASS" https://example.com
curl -u me https://example.com
curl -H "Authorization: Bearer $(cat token)" https://example.com
https://user@example.com/x.git
https://example.com/@scope/pkg-1.2.3
git@github.com:me/repo2.git
postgres://app:$PASSWORD@db/app
postgres://localhost:5432/app2
# programs and prose
data:image/png;base64,iVBORw0KGgo<enc120>
<img src="data:image/gif;base64,R0lGODlh<enc80>">
!function(e,t){var n=e.token,r=t.key;n&&r(n[0]),o.password=i}(window)
a.token=b.token;c.secret=d.getSecret();e.apiKey=f.config.apiKey
var e=t.password||n.defaults.password,r=e.length>8
const token = await getToken(user1, scope2)
token := lexer.next(); key2 := token.text
password = hash_password(password1, salt2)
if user.password == password1 {
func TestToken2(t *testing.T) {
the password must have 12 characters and 1 digit
forgot your password? reset it within 24h
the token expires in 3600s
the secret of good tests: 100% determinism
the key is to read page 12 first
my password is wrong
the API key is missing
the token is invalid2
keyboard: us-intl2, keymap=de-latin1
author=me2 authored 3 commits
passed: 12, failed: 0
compass=north2 bypass: true
monkey=banana12
secretary: ann2
--token is required
use -p 8080:80 to publish the port
docker run -p 8080:80 -u 1000:1000 app2
redis-cli -a is deprecated
mysql -p app2
tar -cpf x.tar dir2
cp -p file1 file2
ps -u root2
mkdir -p build/out2
ssh -p 2222 host2
12:34:56.789 INFO key=user2 hit=true
level=info msg="token refreshed" ttl=3600s
lorem ipsum dolor sit amet consectetur 2026
abcdefghijklmnopqrstuvwxyz0123456789
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
00000000-0000-0000-0000-000000000000
color: #<hex6>; background: #<hex6>
linear-gradient(90deg, #<hex6> 0%, #<hex6> 100%)
latitude=52.5200066 longitude=13.404954
phone +49 30 12345678
ISBN 978-3-16-148410-0
/usr/lib/x86_64-linux-gnu/libcrypto.so.3
Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36
`
