;; Classifies pictures with an exported network, in Clojure: npx nbb classify.cljs FOLDER
;;
;; FOLDER is what export.py wrote. Prints a line of JSON for each picture, as classify.mjs does.

(ns classify
  (:require ["node:fs" :as fs]
            ["node:path" :as path]
            ["onnxruntime-web" :as ort]
            [nbb.core :refer [await]]
            [promesa.core :as p]))

(defn floats [file]
  (let [bytes (fs/readFileSync file)
        start (.-byteOffset bytes)]
    (js/Float32Array. (.slice (.-buffer bytes) start (+ start (.-length bytes))))))

(defn softmax [scores]
  (let [highest (apply max scores)
        powers (mapv #(js/Math.exp (- % highest)) scores)
        sum (reduce + powers)]
    (mapv #(/ % sum) powers)))

(defn classify [session about folder picture]
  (p/let [tensor (ort/Tensor. "float32" (floats (path/join folder (.-tensor picture))) (.-shape about))
          results (.run session (js-obj (.-input about) tensor))]
    (let [scores (vec (js/Array.from (.-data (aget results (.-output about)))))
          probabilities (softmax scores)
          top5 (vec (take 5 (sort-by #(- (nth probabilities %)) (range (count probabilities)))))]
      {:picture (.-name picture)
       :top5 top5
       :names (mapv #(or (aget (.-classes about) %) (str %)) top5)
       :probabilities (mapv #(js/Number (.toFixed (nth probabilities %) 4)) top5)})))

(let [folder (first *command-line-args*)]
  (when-not folder
    (js/console.error "usage: npx nbb classify.cljs FOLDER (made by export.py)")
    (js/process.exit 2))
  (set! (.. ort -env -wasm -numThreads) 1)
  (let [about (js/JSON.parse (fs/readFileSync (path/join folder "model.json") "utf8"))
        bytes (js/Uint8Array. (fs/readFileSync (path/join folder "model.onnx")))]
    (p/let [session (.create (.-InferenceSession ort) bytes #js {:executionProviders #js ["wasm"]})]
      (p/run! (fn [picture]
                (p/let [answer (classify session about folder picture)]
                  (println (js/JSON.stringify (clj->js answer)))))
              (.-pictures about)))))
