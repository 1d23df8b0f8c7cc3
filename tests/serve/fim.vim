" A client of /infill for the tests, in the language vim and neovim share.
"
" It sends what llama.vim sends: the same keys in the same order of making, encoded by the same
" function, through the same curl. On every key typed it stops the request before and asks anew;
" <Tab> takes what came. The code is our own; the format is shared/wire.md's.
"
" $FIM_URL  where to ask            $FIM_KEY   the API key
" $FIM_LOG  a file that gets a line whenever something happened: what the test waits for
" $FIM_MS   milliseconds for an answer

" First of all, for without it there are no lines that go on: nothing of the editor's own taste
" between the keys and the file.
set nocompatible noswapfile noautoindent nofixendofline encoding=utf-8

let s:job = v:null
let s:answer = v:null
let s:nvim = has('nvim')

function! s:Say(what, ...) abort
  call writefile([json_encode([a:what] + a:000)], $FIM_LOG, 'a')
endfunction

" Everything left of the cursor, its line so far, and everything right of it, each line with its end.
function! s:Around() abort
  let [l:row, l:column] = [line('.'), col('.') - 1]
  let [l:text, l:left, l:right] = [getline('.'), '', '']
  if l:text =~# '\S'
    let l:left = strpart(l:text, 0, l:column)
    let l:right = strpart(l:text, l:column)
  endif
  return {
    \ 'prefix': join(getline(max([1, l:row - 256]), l:row - 1), "\n") . "\n",
    \ 'line':   l:left,
    \ 'suffix': l:right . "\n" . join(getline(l:row + 1, l:row + 64), "\n") . "\n",
    \ 'indent': strlen(matchstr(l:text =~# '\S' ? l:text : '', '^\s*')),
    \ }
endfunction

function! s:Request(around) abort
  let l:timings = map(['prompt_n', 'prompt_ms', 'prompt_per_token_ms', 'prompt_per_second',
    \ 'predicted_n', 'predicted_ms', 'predicted_per_token_ms', 'predicted_per_second'], '"timings/" . v:val')
  return {
    \ 'id_slot':          0,
    \ 'input_prefix':     a:around.prefix,
    \ 'input_suffix':     a:around.suffix,
    \ 'input_extra':      [{'text': "import os\n", 'time': reltime(), 'filename': 'other.py'}],
    \ 'prompt':           a:around.line,
    \ 'n_predict':        128,
    \ 'stop':             [],
    \ 'n_cmpl':           1,
    \ 'n_indent':         a:around.indent,
    \ 'top_k':            40,
    \ 'top_p':            0.90,
    \ 'samplers':         ['top_k', 'top_p', 'infill'],
    \ 'stream':           v:false,
    \ 'cache_prompt':     v:true,
    \ 't_max_prompt_ms':  500,
    \ 't_max_predict_ms': str2nr($FIM_MS),
    \ 'response_fields':  ['content'] + l:timings + ['truncated', 'tokens_cached'],
    \ }
endfunction

function! s:WarmUp() abort
  return {
    \ 'id_slot':          0,
    \ 'input_prefix':     '',
    \ 'input_suffix':     '',
    \ 'input_extra':      [{'text': "import os\n", 'time': reltime(), 'filename': 'other.py'}],
    \ 'prompt':           '',
    \ 'n_predict':        0,
    \ 'temperature':      0.0,
    \ 'samplers':         [],
    \ 'stream':           v:false,
    \ 'cache_prompt':     v:true,
    \ 't_max_prompt_ms':  1,
    \ 't_max_predict_ms': 1,
    \ 'response_fields':  [''],
    \ }
endfunction

" Send a request; Reply gets the body that comes back, unless the job is stopped before.
function! s:Post(request, Reply) abort
  let l:curl = ['curl', '--silent', '--no-buffer', '--request', 'POST', '--url', $FIM_URL . '/infill',
    \ '--header', 'Content-Type: application/json', '--data', '@-',
    \ '--header', 'Authorization: Bearer ' . $FIM_KEY]
  let l:body = json_encode(a:request)
  if s:nvim
    let l:job = jobstart(l:curl, {'on_stdout': {job, lines, _ -> a:Reply(job, join(lines, "\n"))}, 'stdout_buffered': v:true})
    call chansend(l:job, l:body)
    call chanclose(l:job, 'stdin')
  else
    let l:job = job_start(l:curl, {'out_cb': {channel, text -> a:Reply(ch_getjob(channel), text)}})
    call ch_sendraw(job_getchannel(l:job), l:body)
    call ch_close_in(job_getchannel(l:job))
  endif
  return l:job
endfunction

function! s:Stop() abort
  if s:job isnot v:null
    call call(s:nvim ? 'jobstop' : 'job_stop', [s:job])
    call s:Say('stopped')
  endif
  let s:job = v:null
endfunction

function! s:Ask() abort
  call s:Stop()
  let s:answer = v:null
  let s:job = s:Post(s:Request(s:Around()), function('s:Replied'))
  call s:Say('asked')
endfunction

function! s:Replied(job, body) abort
  if a:job isnot s:job && a:job != s:job
    return
  endif
  let s:job = v:null
  " llama.vim's own check before it reads a body: no space may follow the colon.
  if a:body !~# '^\s*{' || a:body !~# '"content"\s*:"'
    call s:Say('dropped', a:body)
    return
  endif
  let s:answer = json_decode(a:body)
  call s:Say('shown', s:answer)
endfunction

function! s:Accept() abort
  if s:answer is v:null
    call s:Say('nothing')
    return
  endif
  let [l:row, l:column, l:text] = [line('.'), col('.') - 1, getline('.')]
  let l:lines = split(s:answer.content, "\n", 1)
  let l:lines[0] = strpart(l:text, 0, l:column) . l:lines[0]
  let l:lines[-1] .= strpart(l:text, l:column)
  call setline(l:row, l:lines[0])
  call append(l:row, l:lines[1:])
  call s:Say('accepted')
endfunction

autocmd TextChangedI * call s:Ask()
inoremap <Tab> <C-\><C-O>:call <SID>Accept()<CR>
command! Warm call s:Post(s:WarmUp(), {_, body -> s:Say('warm', body)})
autocmd VimEnter * call s:Say('ready')
